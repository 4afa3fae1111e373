# One deployment: an app with an identity, a host account and a plan of its own, in a resource group of its own.

resource "azurerm_resource_group" "deployment" {
  for_each = var.deployments

  name     = "rg-${var.name}-${each.key}"
  location = each.value.region
  tags     = var.tags
}

resource "azurerm_user_assigned_identity" "app" {
  for_each = var.deployments

  name                = "id-${var.name}-${each.key}"
  resource_group_name = azurerm_resource_group.deployment[each.key].name
  location            = each.value.region
  tags                = var.tags
}

# For the clients of handlers. It has no role in the coordination account.
resource "azurerm_user_assigned_identity" "jobs" {
  for_each = var.deployments

  name                = "id-${var.name}-${each.key}-jobs"
  resource_group_name = azurerm_resource_group.deployment[each.key].name
  location            = each.value.region
  tags                = var.tags
}

resource "azurerm_storage_account" "host" {
  for_each = var.deployments

  name                             = "st${var.name}${local.suffix[each.key]}"
  resource_group_name              = azurerm_resource_group.deployment[each.key].name
  location                         = each.value.region
  account_kind                     = "StorageV2"
  account_tier                     = "Standard"
  account_replication_type         = var.zone_redundant ? "ZRS" : "LRS"
  access_tier                      = "Hot"
  allow_nested_items_to_be_public  = false
  cross_tenant_replication_enabled = false
  shared_access_key_enabled        = false
  default_to_oauth_authentication  = true
  min_tls_version                  = "TLS1_2"
  https_traffic_only_enabled       = true
  public_network_access_enabled    = !var.private_network
  tags                             = var.tags

  network_rules {
    bypass         = ["None"]
    default_action = var.private_network ? "Deny" : "Allow"
  }
}

resource "azurerm_storage_container" "package" {
  for_each = var.deployments

  name                  = "app-package"
  storage_account_id    = azurerm_storage_account.host[each.key].id
  container_access_type = "private"
}

resource "azurerm_application_insights" "app" {
  for_each = var.deployments

  name                          = "appi-${var.name}-${each.key}"
  resource_group_name           = azurerm_resource_group.deployment[each.key].name
  location                      = each.value.region
  application_type              = "web"
  workspace_id                  = local.log_workspace_id
  local_authentication_disabled = true
  tags                          = var.tags
}

locals {
  # The host keeps its timer locks, keys and package in blobs; Durable uses all three services.
  host_roles = ["Storage Blob Data Owner", "Storage Queue Data Contributor", "Storage Table Data Contributor"]
  host_services = {
    for pair in setproduct(keys(var.deployments), ["blob", "queue", "table"]) :
    "${pair[0]} ${pair[1]}" => { deployment = pair[0], service = pair[1] }
  }
}

resource "azurerm_role_assignment" "host" {
  for_each = { for pair in setproduct(keys(var.deployments), local.host_roles) : "${pair[0]} ${pair[1]}" => pair }

  scope                = azurerm_storage_account.host[each.value[0]].id
  principal_id         = azurerm_user_assigned_identity.app[each.value[0]].principal_id
  principal_type       = "ServicePrincipal"
  role_definition_name = each.value[1]
}

resource "azurerm_role_assignment" "telemetry" {
  for_each = var.deployments

  scope                = azurerm_application_insights.app[each.key].id
  principal_id         = azurerm_user_assigned_identity.app[each.key].principal_id
  principal_type       = "ServicePrincipal"
  role_definition_name = "Monitoring Metrics Publisher"
}

resource "azurerm_monitor_diagnostic_setting" "host_writes" {
  for_each = var.log_host_writes ? local.host_services : {}

  name                       = "writes"
  target_resource_id         = "${azurerm_storage_account.host[each.value.deployment].id}/${each.value.service}Services/default"
  log_analytics_workspace_id = azurerm_log_analytics_workspace.evidence.id

  dynamic "enabled_log" {
    for_each = local.write_classes
    content {
      category = enabled_log.value
    }
  }
}

resource "azurerm_service_plan" "app" {
  for_each = var.deployments

  name                   = "plan-${var.name}-${each.key}"
  resource_group_name    = azurerm_resource_group.deployment[each.key].name
  location               = each.value.region
  os_type                = "Linux"
  sku_name               = "FC1"
  zone_balancing_enabled = var.zone_redundant
  tags                   = var.tags
}

locals {
  app_names   = { for name, _ in var.deployments : name => "func-${var.name}-${name}-${substr(local.suffix[name], 0, 6)}" }
  health_path = "/api/manage/health"
  keyed_path  = "/api/manage/keyed/*"

  # The settings of a further account have its number in their names.
  shard_settings = merge(
    length(local.further) == 0 ? {} : {
      CRONLEASE_SHARDS = join(", ", concat(["CRONLEASE_STORAGE"], [for index, _ in local.further : "CRONLEASE_STORAGE_${index + 2}"]))
    },
    { for index, key in local.further :
      "CRONLEASE_STORAGE_${index + 2}__blobServiceUri" => azurerm_storage_account.shared[key].primary_blob_endpoint
    },
    { for index, _ in local.further : "CRONLEASE_STORAGE_${index + 2}__credential" => "managedidentity" }
  )

  settings = {
    for name, _ in var.deployments : name => merge(
      {
        AzureWebJobsStorage__blobServiceUri       = azurerm_storage_account.host[name].primary_blob_endpoint
        AzureWebJobsStorage__queueServiceUri      = azurerm_storage_account.host[name].primary_queue_endpoint
        AzureWebJobsStorage__tableServiceUri      = azurerm_storage_account.host[name].primary_table_endpoint
        AzureWebJobsStorage__credential           = "managedidentity"
        AzureWebJobsStorage__clientId             = azurerm_user_assigned_identity.app[name].client_id
        APPLICATIONINSIGHTS_CONNECTION_STRING     = azurerm_application_insights.app[name].connection_string
        APPLICATIONINSIGHTS_AUTHENTICATION_STRING = "ClientId=${azurerm_user_assigned_identity.app[name].client_id};Authorization=AAD"
        CRONLEASE_STORAGE__blobServiceUri         = azurerm_storage_account.shared["coordination"].primary_blob_endpoint
        CRONLEASE_STORAGE__credential             = "managedidentity"
        CRONLEASE_STORAGE__clientId               = azurerm_user_assigned_identity.app[name].client_id
        CRONLEASE_CONTAINER                       = local.container
        CRONLEASE_DEPLOYMENT                      = local.app_names[name]
        CRONLEASE_ENVIRONMENT                     = var.environment_name
        CRONLEASE_API_KEYS                        = join(",", var.api_keys)
        CRONLEASE_TELEMETRY                       = var.telemetry
        HANDLERS_CLIENT_ID                        = azurerm_user_assigned_identity.jobs[name].client_id
        TASKHUB_NAME                              = "${var.name}${name}"
      },
      local.shard_settings,
      { for index, _ in local.further :
        "CRONLEASE_STORAGE_${index + 2}__clientId" => azurerm_user_assigned_identity.app[name].client_id
      },
      var.audit_days == 0 ? {} : {
        CRONLEASE_AUDIT__blobServiceUri = azurerm_storage_account.shared["audit"].primary_blob_endpoint
        CRONLEASE_AUDIT__credential     = "managedidentity"
        CRONLEASE_AUDIT__clientId       = azurerm_user_assigned_identity.app[name].client_id
      },
      var.app_settings
    )
  }
}

# By azapi: azurerm knows neither the closed /admin nor the identity for references to a key vault.
resource "azapi_resource" "app" {
  for_each = var.deployments

  type                      = "Microsoft.Web/sites@2025-03-01"
  name                      = local.app_names[each.key]
  parent_id                 = azurerm_resource_group.deployment[each.key].id
  location                  = each.value.region
  tags                      = var.tags
  schema_validation_enabled = false
  response_export_values    = ["properties.defaultHostName"]

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.app[each.key].id, azurerm_user_assigned_identity.jobs[each.key].id]
  }

  body = {
    kind = "functionapp,linux"
    properties = {
      serverFarmId                          = azurerm_service_plan.app[each.key].id
      httpsOnly                             = true
      keyVaultReferenceIdentity             = azurerm_user_assigned_identity.app[each.key].id
      virtualNetworkSubnetId                = local.app_subnets[each.key]
      functionsRuntimeAdminIsolationEnabled = true
      functionAppConfig = {
        runtime = { name = "node", version = "24" }
        deployment = {
          storage = {
            type  = "blobContainer"
            value = "${azurerm_storage_account.host[each.key].primary_blob_endpoint}${azurerm_storage_container.package[each.key].name}"
            authentication = {
              type                           = "UserAssignedIdentity"
              userAssignedIdentityResourceId = azurerm_user_assigned_identity.app[each.key].id
            }
          }
        }
        scaleAndConcurrency = {
          instanceMemoryMB     = var.instance_memory_mb
          maximumInstanceCount = var.maximum_instance_count
          # The tick's instance hands attempts over to these. With none ready, the first run after a pause is late.
          alwaysReady = var.always_ready == 0 ? [] : [{ name = "durable", instanceCount = var.always_ready }]
        }
      }
      siteConfig = {
        minTlsVersion    = "1.2"
        scmMinTlsVersion = "1.2"
        http20Enabled    = true
        appSettings      = [for key, value in local.settings[each.key] : { name = key, value = value }]
      }
    }
  }

  # The host reads storage as soon as it starts.
  depends_on = [azurerm_role_assignment.host, azurerm_role_assignment.telemetry, azurerm_role_assignment.shared]
}

# Nobody publishes with a name and a password.
resource "azapi_resource" "passwords" {
  for_each = { for pair in setproduct(keys(var.deployments), ["ftp", "scm"]) : "${pair[0]} ${pair[1]}" => pair }

  type                      = "Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01"
  name                      = each.value[1]
  parent_id                 = azapi_resource.app[each.value[0]].id
  location                  = var.deployments[each.value[0]].region
  schema_validation_enabled = false
  body                      = { properties = { allow = false } }
}

# A caller without a login is sent to the login page. Without an application, everybody gets 401.
resource "azapi_resource" "authentication" {
  for_each = var.deployments

  type      = "Microsoft.Web/sites/config@2025-03-01"
  name      = "authsettingsV2"
  parent_id = azapi_resource.app[each.key].id

  body = {
    properties = {
      platform = { enabled = true }
      globalValidation = {
        requireAuthentication       = true
        unauthenticatedClientAction = var.auth_client_id == "" ? "Return401" : "RedirectToLoginPage"
        redirectToProvider          = var.auth_client_id == "" ? null : "azureactivedirectory"
        excludedPaths               = length(var.api_keys) == 0 ? [local.health_path] : [local.health_path, local.keyed_path]
      }
      httpSettings = { requireHttps = true }
      login = {
        cookieExpiration = { convention = "FixedTime", timeToExpiration = "08:00:00" }
        tokenStore       = { enabled = false }
      }
      identityProviders = {
        azureActiveDirectory = var.auth_client_id == "" ? { enabled = false, registration = null, validation = null } : {
          enabled = true
          registration = {
            clientId     = var.auth_client_id
            openIdIssuer = "https://login.microsoftonline.com/${data.azurerm_client_config.current.tenant_id}/v2.0"
          }
          validation = { allowedAudiences = [var.auth_client_id, "api://${var.auth_client_id}"] }
        }
      }
    }
  }
}

resource "azurerm_application_insights_standard_web_test" "health" {
  for_each = { for name, app in var.deployments : name => app if var.availability_places > 0 }

  name                    = "health-${local.app_names[each.key]}"
  resource_group_name     = azurerm_resource_group.deployment[each.key].name
  location                = each.value.region
  application_insights_id = azurerm_application_insights.app[each.key].id
  enabled                 = true
  frequency               = 900
  timeout                 = 30
  retry_enabled           = true
  geo_locations           = slice(["emea-nl-ams-azr", "us-va-ash-azr", "apac-sg-sin-azr", "emea-gb-db3-azr", "us-tx-sn1-azr"], 0, var.availability_places)
  tags                    = var.tags

  request {
    url                              = "https://${azapi_resource.app[each.key].output.properties.defaultHostName}${local.health_path}"
    http_verb                        = "GET"
    parse_dependent_requests_enabled = false
  }

  validation_rules {
    expected_status_code = 200
    ssl_check_enabled    = true
  }
}
