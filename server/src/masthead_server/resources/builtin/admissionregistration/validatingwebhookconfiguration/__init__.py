"""ValidatingWebhookConfigurations."""
