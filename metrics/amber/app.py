from halluscope.hub.space import page

page("amber").launch()
