from halluscope.hub.space import page

page("dash_b").launch()
