from halluscope.hub.space import page

page("humblebench").launch()
