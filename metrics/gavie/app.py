from halluscope.hub.space import page

page("gavie").launch()
