from halluscope.hub.space import page

page("mme").launch()
