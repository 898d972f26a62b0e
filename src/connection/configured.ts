/** Validates the third-party services that the application declares and the environment names. */
import type { ServiceDeclaration } from '../app/service-declaration.ts'
import { Problems } from '../config/config-error.ts'
import type { Environment } from '../config/env.ts'
import { isName } from '../config/named-variables.ts'
import { type ServiceOptionName, serviceVariables, type ServiceVariables } from '../config/service-options.ts'

/** Validated settings of a third-party service. */
export interface ThirdPartyService {
  readonly name: string
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly revocationUrl: string | null
  readonly apiUrls: readonly string[]
  readonly clientAuthentication: 'body' | 'basic'
  readonly authorizationParameters: Readonly<Record<string, string>>
  readonly callback: 'actor' | 'shared'
}

/** The value of a missing or wrong setting, with which no service is used. */
const unusable = 'https://unusable.invalid'

/** Merges declarations and environment variables, which take precedence. @throws ConfigError naming the setting. */
export function configuredServices(
  declared: ReadonlyMap<string, ServiceDeclaration>,
  env: Environment,
  rules: { readonly allowHttp: boolean },
): ReadonlyMap<string, ThirdPartyService> {
  const problems = new Problems()
  const variables = problems.collect(() => serviceVariables.read(env), new Map<string, ServiceVariables>())
  const listed = problems.collect(() => serviceVariables.names(env), null)
  const names = new Set([...declared.keys(), ...(listed ?? [])])
  for (const [name, settings] of variables) {
    const [option] = Object.keys(settings) as ServiceOptionName[]
    if (!names.has(name) && option !== undefined)
      problems.add(
        `${serviceVariables.of(name, option)} belongs to an unknown service: TROUPE_SERVICES does not name ${name}.`,
      )
  }
  const services = [...names].flatMap((name) => {
    if (isName(name)) return checked(name, declared.get(name) ?? {}, variables.get(name) ?? {}, { ...rules, problems })
    problems.add(`Services must have names such as dropbox; ${name} is not a valid name.`)
    return []
  })
  problems.requireNone()
  return new Map(services.map((service) => [service.name, service]))
}

/** Adds each problem of the settings to `problems`; then the result is not used. */
function checked(
  name: string,
  code: ServiceDeclaration,
  env: ServiceVariables,
  { allowHttp, problems }: { readonly allowHttp: boolean; readonly problems: Problems },
): ThirdPartyService {
  const complain = (option: ServiceOptionName, complaint: string): string => {
    const source = env[option] === undefined ? `Service ${name}: ${option}` : serviceVariables.of(name, option)
    problems.add(`${source} ${complaint}.`)
    return unusable
  }
  const text = (option: Exclude<ServiceOptionName, 'scopes' | 'apiUrls'>): string => {
    const given: unknown = env[option] ?? code[option] ?? ''
    return typeof given === 'string' ? given.trim() : complain(option, 'must be a string')
  }
  const required = (option: Parameters<typeof text>[0]): string => {
    const given = text(option)
    if (given !== '') return given
    problems.add(`The service ${name} needs ${option}: give it in code, or as ${serviceVariables.of(name, option)}.`)
    return unusable
  }
  const address = (option: ServiceOptionName, given: string): string => {
    const complaint = addressComplaint(given, allowHttp)
    return complaint === null ? given : complain(option, complaint)
  }
  const list = (option: 'scopes' | 'apiUrls'): readonly string[] => {
    const given: unknown = env[option]?.split(/\s+/) ?? code[option] ?? []
    if (!Array.isArray(given) || !given.every((one) => typeof one === 'string')) {
      complain(option, 'must be a list of strings')
      return []
    }
    return given.filter((one) => one !== '')
  }
  const tokenUrl = address('tokenUrl', required('tokenUrl'))
  const revocationUrl = text('revocationUrl')
  const apiUrls = list('apiUrls').map((url) => address('apiUrls', url))
  return {
    name,
    authorizationUrl: address('authorizationUrl', required('authorizationUrl')),
    tokenUrl,
    clientId: required('clientId'),
    clientSecret: required('clientSecret'),
    scopes: list('scopes'),
    revocationUrl: revocationUrl === '' ? null : address('revocationUrl', revocationUrl),
    apiUrls: apiUrls.length === 0 ? [new URL(tokenUrl).origin] : apiUrls,
    clientAuthentication: code.clientAuthentication ?? 'body',
    authorizationParameters: code.authorizationParameters ?? {},
    callback: code.callback ?? 'actor',
  }
}

function addressComplaint(text: string, allowHttp: boolean): string | null {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be an absolute address'
  if (url.protocol === 'http:' && !allowHttp) return 'must be an https address'
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password'
  return url.hash === '' ? null : 'must not have a fragment'
}
