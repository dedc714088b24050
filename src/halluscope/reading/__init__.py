"""Opens what users have: JSON, datasets, images and COCO annotations."""
