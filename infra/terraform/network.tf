# With private_network: each deployment's network, the only way to its storage, unless the app has a subnet that exists.

locals {
  networks = { for name, app in var.deployments : name => app if var.private_network && app.subnet_id == null }
  ranges   = { for name, app in local.networks : name => cidrsubnet(var.address_space, 24 - tonumber(split("/", var.address_space)[1]), app.network) }
  app_subnets = {
    for name, app in var.deployments : name => app.subnet_id != null ? app.subnet_id : try(azurerm_subnet.app[name].id, null)
  }
  zones = { for pair in setproduct(keys(local.networks), ["blob", "queue", "table"]) : "${pair[0]} ${pair[1]}" => pair }
  endpoints = merge(
    { for pair in setproduct(keys(local.networks), local.accounts) : "${pair[0]} ${pair[1]}" => {
      deployment = pair[0], name = pair[1], service = "blob", account = azurerm_storage_account.shared[pair[1]].id
    } },
    { for key, pair in local.zones : "${pair[0]} host-${pair[1]}" => {
      deployment = pair[0], name = "host-${pair[1]}", service = pair[1], account = azurerm_storage_account.host[pair[0]].id
    } }
  )
}

resource "azurerm_network_security_group" "endpoints" {
  for_each = local.networks

  name                = "nsg-${var.name}-${each.key}-endpoints"
  resource_group_name = azurerm_resource_group.deployment[each.key].name
  location            = each.value.region
  tags                = var.tags

  security_rule {
    name                       = "app-to-storage"
    description                = "The app calls storage over HTTPS, and so do people in operator_ranges."
    direction                  = "Inbound"
    access                     = "Allow"
    priority                   = 100
    protocol                   = "Tcp"
    source_address_prefixes    = concat([cidrsubnet(local.ranges[each.key], 2, 0)], var.operator_ranges)
    source_port_range          = "*"
    destination_address_prefix = cidrsubnet(local.ranges[each.key], 2, 1)
    destination_port_range     = "443"
  }

  security_rule {
    name                       = "nothing-else"
    description                = "Nobody else calls storage, not even from a peered network."
    direction                  = "Inbound"
    access                     = "Deny"
    priority                   = 4096
    protocol                   = "*"
    source_address_prefix      = "*"
    source_port_range          = "*"
    destination_address_prefix = "*"
    destination_port_range     = "*"
  }
}

resource "azurerm_network_security_group" "app" {
  for_each = local.networks

  name                = "nsg-${var.name}-${each.key}-app"
  resource_group_name = azurerm_resource_group.deployment[each.key].name
  location            = each.value.region
  tags                = var.tags
}

resource "azurerm_virtual_network" "deployment" {
  for_each = local.networks

  name                = "vnet-${var.name}-${each.key}"
  resource_group_name = azurerm_resource_group.deployment[each.key].name
  location            = each.value.region
  address_space       = [local.ranges[each.key]]
  tags                = var.tags
}

resource "azurerm_subnet" "app" {
  for_each = local.networks

  name                 = "app"
  resource_group_name  = azurerm_resource_group.deployment[each.key].name
  virtual_network_name = azurerm_virtual_network.deployment[each.key].name
  address_prefixes     = [cidrsubnet(local.ranges[each.key], 2, 0)]

  delegation {
    name = "flex-consumption"

    service_delegation {
      name = "Microsoft.App/environments"
    }
  }
}

resource "azurerm_subnet" "endpoints" {
  for_each = local.networks

  name                            = "endpoints"
  resource_group_name             = azurerm_resource_group.deployment[each.key].name
  virtual_network_name            = azurerm_virtual_network.deployment[each.key].name
  address_prefixes                = [cidrsubnet(local.ranges[each.key], 2, 1)]
  default_outbound_access_enabled = false
  # Without this setting, the rules would not apply to private endpoints.
  private_endpoint_network_policies = "NetworkSecurityGroupEnabled"
}

resource "azurerm_subnet_network_security_group_association" "app" {
  for_each = local.networks

  subnet_id                 = azurerm_subnet.app[each.key].id
  network_security_group_id = azurerm_network_security_group.app[each.key].id
}

resource "azurerm_subnet_network_security_group_association" "endpoints" {
  for_each = local.networks

  subnet_id                 = azurerm_subnet.endpoints[each.key].id
  network_security_group_id = azurerm_network_security_group.endpoints[each.key].id
}

resource "azurerm_private_dns_zone" "storage" {
  for_each = local.zones

  name                = "privatelink.${each.value[1]}.core.windows.net"
  resource_group_name = azurerm_resource_group.deployment[each.value[0]].name
  tags                = var.tags
}

resource "azurerm_private_dns_zone_virtual_network_link" "storage" {
  for_each = local.zones

  name                  = azurerm_virtual_network.deployment[each.value[0]].name
  resource_group_name   = azurerm_resource_group.deployment[each.value[0]].name
  private_dns_zone_name = azurerm_private_dns_zone.storage[each.key].name
  virtual_network_id    = azurerm_virtual_network.deployment[each.value[0]].id
  registration_enabled  = false
  tags                  = var.tags
}

resource "azurerm_private_endpoint" "storage" {
  for_each = local.endpoints

  name                = "pe-${var.name}-${each.value.deployment}-${each.value.name}"
  resource_group_name = azurerm_resource_group.deployment[each.value.deployment].name
  location            = var.deployments[each.value.deployment].region
  subnet_id           = azurerm_subnet.endpoints[each.value.deployment].id
  tags                = var.tags

  private_service_connection {
    name                           = each.value.name
    private_connection_resource_id = each.value.account
    subresource_names              = [each.value.service]
    is_manual_connection           = false
  }

  private_dns_zone_group {
    name                 = "default"
    private_dns_zone_ids = [azurerm_private_dns_zone.storage["${each.value.deployment} ${each.value.service}"].id]
  }
}
