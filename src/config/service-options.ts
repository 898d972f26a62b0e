/**
 * The settings of third-party services in the environment: `TROUPE_SERVICES` names those that code does not declare, and
 * each has its own variables. The list from which they are read and `docs/configuration.md` is written.
 */
import { ConfigError } from './config-error.ts'
import type { Environment } from './env.ts'

export interface ServiceOption {
  /** After `TROUPE_SERVICE_<NAME>_`. */
  readonly suffix: string
  readonly text: string
  readonly secret?: boolean
}

/** By their names in code. */
export const serviceOptions = {
  clientId: { suffix: 'CLIENT_ID', text: 'As the service gave it when the application was registered there.' },
  clientSecret: { suffix: 'CLIENT_SECRET', text: 'The secret that goes with it.', secret: true },
  scopes: { suffix: 'SCOPES', text: 'What is asked for, separated by blanks.' },
  authorizationUrl: { suffix: 'AUTHORIZATION_URL', text: 'Where the browser goes to allow the connection.' },
  tokenUrl: { suffix: 'TOKEN_URL', text: 'Where codes and refresh tokens are redeemed.' },
  revocationUrl: { suffix: 'REVOCATION_URL', text: 'Where a token is given back when the actor disconnects.' },
  apiUrls: {
    suffix: 'API_URLS',
    text: 'The addresses below which its tokens are sent, separated by blanks; the host of `TOKEN_URL` unless set.',
  },
} as const satisfies Record<string, ServiceOption>

export type ServiceOptionName = keyof typeof serviceOptions
export type ServiceVariables = Partial<Record<ServiceOptionName, string>>

export const serviceList = 'TROUPE_SERVICES'
const prefix = 'TROUPE_SERVICE_'

/** Lower case, in words joined by `-`; the environment writes `_` for it. */
export function isServiceName(name: string): boolean {
  return name.length <= 40 && /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)
}

export function serviceVariable(name: string, option: ServiceOptionName): string {
  return `${prefix}${name.toUpperCase().replaceAll('-', '_')}_${serviceOptions[option].suffix}`
}

/** @throws ConfigError */
export function listedServices(env: Environment): readonly string[] {
  const names = (env[serviceList] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const wrong = names.find((name) => !isServiceName(name))
  if (wrong !== undefined) throw new ConfigError(`${serviceList} must be names such as dropbox; ${wrong} is none.`)
  return [...new Set(names)]
}

/** Settings that the environment has for services, by the name of the service and of the option. */
export function serviceSettings(env: Environment): ReadonlyMap<string, ServiceVariables> {
  const found = new Map<string, ServiceVariables>()
  for (const [variable, value] of Object.entries(env)) {
    const setting = value === undefined || value === '' ? null : parseVariable(variable)
    if (setting !== null) found.set(setting.name, { ...found.get(setting.name), [setting.option]: value })
  }
  return found
}

export function isServiceVariable(variable: string): boolean {
  return variable === serviceList || parseVariable(variable) !== null
}

function parseVariable(variable: string): { readonly name: string; readonly option: ServiceOptionName } | null {
  if (!variable.startsWith(prefix)) return null
  const rest = variable.slice(prefix.length)
  for (const [option, { suffix }] of Object.entries(serviceOptions)) {
    if (!rest.endsWith(`_${suffix}`)) continue
    const name = rest.slice(0, -suffix.length - 1)
    const spelled = name.toLowerCase().replaceAll('_', '-')
    if (name === name.toUpperCase() && isServiceName(spelled)) {
      return { name: spelled, option: option as ServiceOptionName }
    }
  }
  return null
}
