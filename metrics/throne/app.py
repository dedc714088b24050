from halluscope.hub.space import page

page("throne").launch()
