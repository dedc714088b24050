from halluscope.hub.space import page

page("hqh").launch()
