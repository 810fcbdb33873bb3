from django.urls import path

from benchmark import views

urlpatterns = [
    path("plaintext", views.plaintext),
    path("json", views.message),
    path("db", views.single),
    path("queries", views.several),
    path("updates", views.updates),
    path("fortunes", views.fortunes),
]
