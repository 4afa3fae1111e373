# The alert rules, and the people that they notify, as in infra/modules/alerts.bicep.

locals {
  # One group of its own, unless others are named and nobody is mailed.
  has_people = length(var.alert_emails) > 0 || length(var.action_group_ids) == 0
  groups     = concat(local.has_people ? [azurerm_monitor_action_group.people[0].id] : [], var.action_group_ids)

  # The app's own events: docs/reference/events.md.
  events = <<-KQL
    AppTraces
    | where Message startswith 'cronlease {'
    | extend entry = parse_json(substring(Message, 10))
    | project TimeGenerated, event = tostring(entry.event), job = tostring(entry.job), deployment = tostring(entry.deployment)
  KQL

  event_rules = {
    failed = {
      title       = "A run failed"
      description = "A run has ended, and its last attempt failed, timed out or stalled. cronlease why gives the reason."
      filter      = "event in ('failed', 'timedOut', 'stalled')"
      dimension   = "job"
      more_than   = 0
      window      = "PT30M"
    }
    take-overs = {
      title       = "Take-overs above normal"
      description = "Holders die more often than deployments and scaling explain. Look for restarts, memory and blocked event loops."
      filter      = "event == 'takenOver'"
      dimension   = "job"
      more_than   = 3
      window      = "PT1H"
    }
    trouble = {
      title       = "A deployment is in trouble"
      description = "Storage or the task hub does not answer, cronlease did not write a blob, or a job follows a newer file. The health check asks only one instance, which may not be the one that ticks."
      filter      = "event == 'unhealthy'"
      dimension   = "deployment"
      more_than   = 0
      window      = "PT30M"
    }
    clock-skew = {
      title       = "Clock skew"
      description = "The clock of a deployment is more than 2 s off the storage service's. No run happens twice, but runs may be late."
      filter      = "event == 'clockSkew'"
      dimension   = "deployment"
      more_than   = 0
      window      = "PT30M"
    }
  }

  log_rules = merge(
    # The app logs the overdue jobs at each sweep: a log query looks back two days at most, and alertAfter may be longer.
    {
      for key in(length(local.overdue_jobs) > 0 ? ["overdue"] : []) : key => {
        name        = "${var.name}-overdue"
        title       = "a job is overdue"
        description = "The job has had no success for longer than its alertAfter."
        severity    = 1
        query       = "${local.events}| where event == 'overdue'"
        operator    = "GreaterThan"
        threshold   = 0
        dimensions  = { job = local.overdue_jobs }
        frequency   = "PT5M"
        window      = "PT15M"
        periods     = 1
      }
    },
    {
      for key, rule in local.event_rules : key => {
        name        = "${var.name}-${key}"
        title       = rule.title
        description = rule.description
        severity    = 2
        query       = "${local.events}| where ${rule.filter}"
        operator    = "GreaterThan"
        threshold   = rule.more_than
        dimensions  = { (rule.dimension) = ["*"] }
        frequency   = "PT15M"
        window      = rule.window
        periods     = 1
      }
    },
    # One rule for each app: a rule that is split by app would see no row of a silent one. Late logs are no silence.
    {
      for key, _ in var.deployments : "silent-${key}" => {
        name        = "${local.app_names[key]}-silent"
        title       = "no tick from ${local.app_names[key]}"
        description = "The app has not ticked for 10 minutes, or its logs do not arrive. The others run its jobs."
        severity    = 2
        query       = "AppTraces | where Message startswith \"Executed 'Functions.cronleaseTick'\" and AppRoleName =~ '${local.app_names[key]}'"
        operator    = "LessThan"
        threshold   = 1
        dimensions  = {}
        frequency   = "PT5M"
        window      = "PT5M"
        periods     = 2
      }
    },
  )
}

resource "azurerm_monitor_action_group" "people" {
  count = local.has_people ? 1 : 0

  name                = "ag-${var.name}"
  resource_group_name = azurerm_resource_group.shared.name
  short_name          = var.name
  tags                = var.tags

  dynamic "email_receiver" {
    for_each = var.alert_emails
    content {
      name                    = email_receiver.value
      email_address           = email_receiver.value
      use_common_alert_schema = true
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "log" {
  for_each = local.log_rules

  name                    = "alert-${each.value.name}"
  resource_group_name     = azurerm_resource_group.shared.name
  location                = var.location
  display_name            = "cronlease: ${each.value.title}"
  description             = each.value.description
  severity                = each.value.severity
  scopes                  = [local.log_workspace_id]
  evaluation_frequency    = each.value.frequency
  window_duration         = each.value.window
  auto_mitigation_enabled = true
  # A new workspace has no such table until the first app logs.
  skip_query_validation = true
  tags                  = var.tags

  criteria {
    query                   = each.value.query
    time_aggregation_method = "Count"
    operator                = each.value.operator
    threshold               = each.value.threshold

    dynamic "dimension" {
      for_each = each.value.dimensions
      content {
        name     = dimension.key
        operator = "Include"
        values   = dimension.value
      }
    }

    failing_periods {
      number_of_evaluation_periods             = each.value.periods
      minimum_failing_periods_to_trigger_alert = each.value.periods
    }
  }

  action {
    action_groups = local.groups
  }
}

resource "azurerm_monitor_metric_alert" "unhealthy" {
  for_each = azurerm_application_insights_standard_web_test.health

  name                = "alert-${local.app_names[each.key]}-unhealthy"
  resource_group_name = azurerm_resource_group.shared.name
  description         = "manage/health does not answer 200 to more than half of the places that call it. An unhealthy line in the log gives the reason."
  severity            = 1
  frequency           = "PT5M"
  # Each place asks every 15 minutes.
  window_size   = "PT30M"
  auto_mitigate = true
  scopes        = [azurerm_application_insights_standard_web_test.health[each.key].id, azurerm_application_insights.app[each.key].id]
  tags          = var.tags

  application_insights_web_test_location_availability_criteria {
    web_test_id           = azurerm_application_insights_standard_web_test.health[each.key].id
    component_id          = azurerm_application_insights.app[each.key].id
    failed_location_count = floor(var.availability_places / 2) + 1
  }

  dynamic "action" {
    for_each = local.groups
    content {
      action_group_id = action.value
    }
  }
}
