from halluscope.hub.space import page

page("mmhal").launch()
