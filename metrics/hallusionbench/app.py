from halluscope.hub.space import page

page("hallusionbench").launch()
