from shop.catalogue import Catalogue, UnknownProduct
from shop.cart import Cart
from shop.pricing import total_of, UnknownDiscount
from shop.receipt import receipt
