"""How arrays lie on devices, as types and users say it: meshes, specs, shardings. No data is here."""
