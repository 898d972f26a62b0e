/** The settings of the service: those of the core and of its features. */
import { resolveOptions } from '../config/config.ts'
import type { Environment } from '../config/env.ts'
import type { ConfigOf, OptionTable } from '../config/option.ts'
import { type Config, options } from '../config/options.ts'
import { webhookOptions } from './webhooks/options.ts'

const builtInOptions = { ...webhookOptions } as const

/** All options, with units, defaults and descriptions. This list defines the environment variables, the options in code and `docs/configuration.md`. */
export const allOptions = { ...options, ...builtInOptions } as const

/** All settings. */
export type ServiceConfig = Config & ConfigOf<typeof builtInOptions>

/**
 * Resolves and validates all settings. The environment overrides code, so the operator has the final decision.
 *
 * @param more The options of features of the application.
 * @throws ConfigError naming the setting.
 */
export function resolveConfig(code: Partial<ServiceConfig>, env: Environment, more: OptionTable = {}): ServiceConfig {
  return resolveOptions({ ...more, ...builtInOptions }, code, env)
}
