from lib.shape import area

print(area(3))
