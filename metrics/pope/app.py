from halluscope.hub.space import page

page("pope").launch()
