from halluscope.hub.space import page

page("chair").launch()
