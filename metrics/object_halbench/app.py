from halluscope.hub.space import page

page("object_halbench").launch()
