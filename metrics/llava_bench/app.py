from halluscope.hub.space import page

page("llava_bench").launch()
