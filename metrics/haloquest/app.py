from halluscope.hub.space import page

page("haloquest").launch()
