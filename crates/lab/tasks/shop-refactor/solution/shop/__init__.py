from shop.cart import Cart
from shop.catalogue import Catalogue, UnknownProduct
from shop.pricing import UnknownDiscount, total_of
from shop.receipt import receipt
