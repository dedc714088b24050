from halluscope.hub.space import page

page("hqm").launch()
