from halluscope.hub.space import page

page("openchair").launch()
