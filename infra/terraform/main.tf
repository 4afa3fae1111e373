# Everything that the coordinator needs, as infra/main.bicep creates it: one coordination account or several, one place for
# logs and alerts, and one app for each deployment.

data "azurerm_client_config" "current" {}

locals {
  jobs  = jsondecode(file(var.jobs_file)).jobs
  units = { d = 86400, h = 3600, m = 60, s = 1 }
  keep_days = max(1, [
    for _, job in local.jobs : ceil(sum([
      for part in regexall("(\\d+)([dhms])", try(job.keep, "90d")) : tonumber(part[0]) * local.units[part[1]]
    ]) / 86400)
  ]...)
  overdue_jobs = [for name, job in local.jobs : name if can(job.alertAfter)]

  container = "cronlease"
  # Other subscriptions may have the same name, and storage accounts share one namespace.
  suffix = { for part in concat(["coordination", "audit"], keys(var.deployments), local.further) :
    part => substr(sha256("${data.azurerm_client_config.current.subscription_id} ${var.name} ${part}"), 0, 13)
  }
  further       = [for number in range(2, var.coordination_accounts + 1) : "coordination-${number}"]
  coordination  = concat(["coordination"], local.further)
  accounts      = concat(local.coordination, var.audit_days > 0 ? ["audit"] : [])
  write_classes = ["StorageWrite", "StorageDelete"]
}

resource "azurerm_resource_group" "shared" {
  name     = "rg-${var.name}"
  location = var.location
  tags     = var.tags
}

resource "azurerm_log_analytics_workspace" "logs" {
  count = var.log_workspace_id == "" ? 1 : 0

  name                         = "log-${var.name}"
  resource_group_name          = azurerm_resource_group.shared.name
  location                     = var.location
  sku                          = "PerGB2018"
  retention_in_days            = 30
  daily_quota_gb               = var.daily_quota_gb
  local_authentication_enabled = false
  tags                         = var.tags
}

# Evidence of who wrote to storage has a cap of its own: nobody can use it up by making the apps log.
resource "azurerm_log_analytics_workspace" "evidence" {
  name                         = "log-${var.name}-evidence"
  resource_group_name          = azurerm_resource_group.shared.name
  location                     = var.location
  sku                          = "PerGB2018"
  retention_in_days            = 30
  daily_quota_gb               = var.writes_quota_gb
  local_authentication_enabled = false
  tags                         = var.tags
}

locals {
  log_workspace_id = var.log_workspace_id == "" ? azurerm_log_analytics_workspace.logs[0].id : var.log_workspace_id
}

# Rows, controls, the ledger and the logs of all regions; and the second place of audit entries. They are no host accounts,
# because write access to a task hub is the right to run code in its app.
resource "azurerm_storage_account" "shared" {
  for_each = toset(local.accounts)

  name                             = "st${var.name}${local.suffix[each.key]}"
  resource_group_name              = azurerm_resource_group.shared.name
  location                         = var.location
  account_kind                     = "StorageV2"
  account_tier                     = "Standard"
  account_replication_type         = var.coordination_replication
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
    # The lifecycle rule runs as a trusted service.
    bypass         = each.key == "audit" ? ["None"] : ["AzureServices"]
    default_action = var.private_network ? "Deny" : "Allow"
  }

  blob_properties {
    # With versions, each write of a row would leave one behind.
    versioning_enabled = false

    delete_retention_policy {
      days = 14
    }

    container_delete_retention_policy {
      days = 14
    }
  }
}

# In a new account, the fencing tokens would start again from 1.
resource "azurerm_management_lock" "keep" {
  for_each = var.delete_lock ? toset(local.accounts) : []

  name       = "keep"
  scope      = azurerm_storage_account.shared[each.key].id
  lock_level = "CanNotDelete"
  notes      = each.key == "audit" ? "Holds the audit entries of all jobs." : "Holds the tokens and the ledger of all jobs."
}

resource "azurerm_storage_container" "cronlease" {
  for_each = toset(local.accounts)

  name                  = local.container
  storage_account_id    = azurerm_storage_account.shared[each.key].id
  container_access_type = "private"
}

resource "azurerm_storage_container" "jobs" {
  for_each = toset(var.job_containers)

  name                  = each.key
  storage_account_id    = azurerm_storage_account.shared["coordination"].id
  container_access_type = "private"
}

# It begins unlocked: an owner of the account can still remove it. Lock it once it has been tried.
resource "azurerm_storage_container_immutability_policy" "audit" {
  count = var.audit_days > 0 ? 1 : 0

  storage_container_resource_manager_id = azurerm_storage_container.cronlease["audit"].id
  immutability_period_in_days           = var.audit_days
  protected_append_writes_enabled       = false
  protected_append_writes_all_enabled   = false
}

# Never jobs/: a job whose row was deleted starts anew.
resource "azurerm_storage_management_policy" "ledger" {
  for_each = toset(local.coordination)

  storage_account_id = azurerm_storage_account.shared[each.key].id

  rule {
    name    = "ledger"
    enabled = true

    filters {
      blob_types   = ["blockBlob", "appendBlob"]
      prefix_match = [for folder in ["runs", "requests", "logs", "audit", "notices"] : "${local.container}/${folder}/"]
    }

    actions {
      base_blob {
        delete_after_days_since_modification_greater_than = local.keep_days
      }
    }
  }
}

resource "azurerm_monitor_diagnostic_setting" "shared_writes" {
  for_each = toset([for account in local.accounts : account if var.log_writes || account == "audit"])

  name                       = "writes"
  target_resource_id         = "${azurerm_storage_account.shared[each.key].id}/blobServices/default"
  log_analytics_workspace_id = azurerm_log_analytics_workspace.evidence.id

  dynamic "enabled_log" {
    for_each = local.write_classes
    content {
      category = enabled_log.value
    }
  }
}

locals {
  # Who may do what in the containers of the shared accounts.
  access = merge(
    { for pair in setproduct(local.coordination, keys(var.deployments)) : "${pair[0]} ${pair[1]}" => {
      scope = azurerm_storage_container.cronlease[pair[0]].id, principal = azurerm_user_assigned_identity.app[pair[1]].principal_id,
      type  = "ServicePrincipal", role = "Storage Blob Data Contributor"
    } },
    { for pair in setproduct(var.job_containers, keys(var.deployments)) : "container ${pair[0]} ${pair[1]}" => {
      scope = azurerm_storage_container.jobs[pair[0]].id, principal = azurerm_user_assigned_identity.app[pair[1]].principal_id,
      type  = "ServicePrincipal", role = "Storage Blob Data Contributor"
    } },
    # The policy of the container lets nobody change or delete an entry.
    { for name in var.audit_days > 0 ? keys(var.deployments) : [] : "audit ${name}" => {
      scope = azurerm_storage_container.cronlease["audit"].id, principal = azurerm_user_assigned_identity.app[name].principal_id,
      type  = "ServicePrincipal", role = "Storage Blob Data Contributor"
    } },
    { for pair in setproduct(local.accounts, var.operator_groups) : "operator ${pair[0]} ${pair[1]}" => {
      scope = azurerm_storage_container.cronlease[pair[0]].id, principal = pair[1], type = "Group", role = "Storage Blob Data Contributor"
    } },
    { for pair in setproduct(local.accounts, keys(var.viewers)) : "viewer ${pair[0]} ${pair[1]}" => {
      scope = azurerm_storage_container.cronlease[pair[0]].id, principal = pair[1], type = var.viewers[pair[1]], role = "Storage Blob Data Reader"
    } }
  )
}

resource "azurerm_role_assignment" "shared" {
  for_each = local.access

  scope                = each.value.scope
  principal_id         = each.value.principal
  principal_type       = each.value.type
  role_definition_name = each.value.role
}
