/** The settings of the service: those of the core and of its features. */
import { Problems, readOptions } from '../config/config.ts'
import type { Environment } from '../config/env.ts'
import type { ConfigOf, OptionTable } from '../config/option.ts'
import { type Config, options } from '../config/options.ts'
import { exportOptions } from './exports/options.ts'
import { fileOptions } from './files/options.ts'
import { groupOptions } from './groups/options.ts'
import { mailOptions } from './mail/options.ts'
import { webhookOptions } from './webhooks/options.ts'

const builtInOptions = { ...exportOptions, ...fileOptions, ...groupOptions, ...mailOptions, ...webhookOptions } as const

/** All options, with units, defaults and descriptions. This list defines the environment variables, the options in code and `docs/configuration.md`. */
export const allOptions = { ...options, ...builtInOptions } as const

/** All settings. */
export type ServiceConfig = Config & ConfigOf<typeof builtInOptions>

/**
 * Resolves and validates all settings. The environment overrides code, so the operator has the final decision. A setting with
 * a problem has its default.
 *
 * @param problems Receives each problem, which names the setting.
 * @param more The options of features that the application adds.
 */
export function readConfig(
  code: Partial<ServiceConfig>,
  env: Environment,
  problems: Problems,
  more: OptionTable = {},
): ServiceConfig {
  return readOptions({ ...builtInOptions, ...more }, code, env, problems)
}

/**
 * Like `readConfig`, for commands that need valid settings.
 *
 * @throws ConfigError with all problems.
 */
export function resolveConfig(code: Partial<ServiceConfig>, env: Environment, more: OptionTable = {}): ServiceConfig {
  const problems = new Problems()
  const config = readConfig(code, env, problems, more)
  problems.requireNone()
  return config
}
