/** `npm run docs`: writes the reference pages that are made from the code. A test holds them to it. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Registry } from '../src/app/registry.ts'
import type { Caller } from '../src/caller.ts'
import { defaultOf, resolveConfig } from '../src/config/config.ts'
import { type Mode, type Option, options } from '../src/config/options.ts'
import type { NamedOption } from '../src/config/named-variables.ts'
import { providerOptions, providerVariables } from '../src/config/provider-options.ts'
import { serviceOptions, serviceVariables } from '../src/config/service-options.ts'
import type { FieldSchema } from '../src/json/fields.ts'
import { isOfService, rightOf, type Route } from '../src/http/dispatch/route.ts'
import { documentedRoutes } from '../src/http/routes/all-routes.ts'
import { Permission } from '../src/permission/permission.ts'
import { commandOptions } from './command-options.ts'
import { errorPage } from './error-page.ts'

const note = '<!-- Made by `npm run docs`; changes belong into the code. -->\n'

/** By file name below `docs`. */
export const pages: Readonly<Record<string, () => string>> = {
  'configuration.md': configurationPage,
  'api.md': apiPage,
  'errors.md': () => errorPage(note),
}

export function configurationPage(): string {
  return `${note}
# Configuration

Every setting has two names: one for the environment, one for code, as in \`troupe({ port: 8080 })\`. The environment wins, because the operator decides last. A setting that is wrong or unknown stops the start with a sentence that names it.

\`troupe dev\` and \`npm start\` run in development mode, \`troupe serve\` and an embedded application in production mode unless told otherwise. Where the modes differ, both defaults are given.

${Object.entries(options)
  .map(([name, option]) => described(name, option as Option<unknown>))
  .join('\n')}
${providerSection()}
${serviceSection()}`
}

/** By the list from which the environment is read. */
function rowsOf(all: Readonly<Record<string, NamedOption>>): string {
  return Object.entries(all)
    .map(
      ([name, { suffix, text, secret }]) =>
        `| \`${suffix}\` | \`${name}\` | ${text}${secret === true ? ' Appears in no log and on no page.' : ''} |`,
    )
    .join('\n')
}

function serviceSection(): string {
  return `## Third-party services

Where actors may have an account; [Writing an application](application.md#third-party-services) shows it.

An application declares them with \`app.service(name, { … })\`; \`${serviceVariables.list}\` names further ones, separated by commas. Each has its settings under \`TROUPE_SERVICE_<NAME>_…\`, the name in capitals and with \`_\` for \`-\`: \`TROUPE_SERVICE_DROPBOX_CLIENT_SECRET\`. The environment wins over code.

| In the environment | In code | |
|---|---|---|
${rowsOf(serviceOptions)}
`
}

function providerSection(): string {
  return `## Identity providers

Where people sign in; [Sign-in](sign-in.md) shows it for each kind of provider.

\`${providerVariables.list}\` names the providers, separated by commas, in the order in which they are offered; the first is the default. \`google\`, \`github\` and \`apple\` are known, any other name is a provider of OpenID Connect. Unset, there are the providers that the application declares; set, those that it names and no others, and empty means none.

Each has its settings under \`TROUPE_PROVIDER_<NAME>_…\`, the name in capitals and with \`_\` for \`-\`: \`TROUPE_PROVIDER_GOOGLE_CLIENT_ID\`. In code they are members of \`google({ … })\`, \`github({ … })\`, \`apple({ … })\` and \`openid({ name, … })\` in \`signIn\`; the environment wins.

| In the environment | In code | |
|---|---|---|
${rowsOf(providerOptions)}
`
}

function described(name: string, option: Option<unknown>): string {
  return `## ${option.env}

${option.text}

- In code: \`${name}\`
- Values: ${option.values}
- Default: ${defaultText(option)}
${option.secret === true ? '- What is secret in it appears in no log and on no page.\n' : ''}`
}

function defaultText(option: Option<unknown>): string {
  if (option.defaultText !== undefined) return option.defaultText
  const [development, production] = (['development', 'production'] as const).map((mode) => shown(option, mode))
  return development === production ? `${development}` : `${development} in development, ${production} in production`
}

function shown(option: Option<unknown>, mode: Mode): string {
  const value = defaultOf(option, mode)
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? '`1`' : '`0`'
  if (Array.isArray(value)) return code(value.join(','))
  return code(typeof value === 'string' ? value : JSON.stringify(value))
}

export function apiPage(): string {
  const config = resolveConfig({ mode: 'development' }, {})
  const identity = { type: '', name: '', version: '', description: '', info: '', specification: '' }
  const routes = documentedRoutes({ config, identity, baseUrl: 'http://localhost', registry: new Registry() })
  const groups = Map.groupBy(routes, groupOf)
  return `${note}
# API

Every address of the service, from its route table. A running service gives the same as an OpenAPI 3.1 document at \`/openapi.json\`, together with the methods and actions that its application declared.

- Addresses begin with the \`BASE_URL\` of the service. \`…\` stands for any number of further segments.
- HEAD works wherever GET does. A method that an address does not take is answered 405, with the complete \`Allow\`.
- An error is \`{"error": "<code>", "message": "<what could not be done, with what>"}\` ([codes](errors.md)). Besides the statuses below, every address may answer 400 for a request that cannot be understood, 414 and 431 for one whose address or headers are too long, and 500 or 503 when the service fails.
- A query parameter that is not listed is 400, except on pages and where the address says that further parameters are ignored. Names count in any letter case.
- "Who" names those whose role may reach the address. Relationships other than the creator also need a rule for the very target.

${[...groups].map(([group, members]) => groupText(group, members)).join('\n')}`
}

function groupOf(route: Route): string {
  const [first = '', second] = route.path.slice(1).split('/')
  if (first !== ':actor') return 'The service'
  return second === undefined ? 'The actor' : `/${second}`
}

const titles: Readonly<Record<string, string>> = {
  '/devtest': 'Devtest (only where `TROUPE_DEVTEST` is on)',
}

function groupText(group: string, routes: readonly Route[]): string {
  const title = titles[group] ?? (group.startsWith('/') ? `${group.charAt(1).toUpperCase()}${group.slice(2)}` : group)
  return `## ${title}

${routes.map(routeText).join('\n')}`
}

function routeText(route: Route): string {
  const path = route.path.replaceAll(/:(\w+)/g, '<$1>').replace('*', '…')
  const query = Object.entries(route.query ?? {}).map(([name, field]) => `- \`?${name}=\` ${sentenceOf(field.schema)}`)
  const { request } = route
  const body = request === undefined ? [] : [`- Body: ${Object.keys(request.content).map(code).join(', ')}`]
  const answers = Object.entries(route.responses).map(([status, about]) => ({
    status: Number(status),
    text: typeof about === 'string' ? about : about.text,
  }))
  const refusals = answers.filter(({ status }) => status >= 400).map(({ status }) => status)
  return `### ${code(`${route.method} ${path}`)}

${route.summary}.

${[
  `- Who: ${who(route)}`,
  ...query,
  ...(route.unknownQuery === 'ignored' ? ['- Further query parameters are ignored'] : []),
  ...body,
  ...answers.filter(({ status }) => status < 400).map(({ status, text }) => `- ${status}: ${text}`),
  ...(refusals.length === 0 ? [] : [`- Refused with ${refusals.join(', ')}`]),
].join('\n')}
`
}

function sentenceOf({ description, minimum, maximum, default: fallback }: FieldSchema): string {
  const range = maximum === undefined ? [] : [`from ${minimum} to ${maximum}`]
  const unless = fallback === undefined ? [] : [`${fallback} unless given`]
  const limits = [...range, ...unless].join('; ')
  return limits === '' ? `${description}` : `${description}: ${limits}`
}

/** Asked of the evaluator itself, so that the page cannot promise what the service refuses. */
function who(route: Route): string {
  if (route.access === 'client') {
    const client = 'an AI client with an access token'
    return route.withoutToken === undefined ? client : `${client}; everybody where no token is needed`
  }
  if (route.access === 'oauth-client') return 'a registered client'
  if (isOfService(route) || route.access === 'public') return 'everybody'
  if (route.access === 'open') return 'judged by what is asked for'
  if (route.access === 'www') return 'the owner, in a session'
  const permission = new Permission()
  const operation = { category: route.access, right: rightOf(route.method) }
  const callers: [string, Caller][] = [
    ['the creator', { kind: 'creator', via: 'basic' }],
    ['a trustee', { kind: 'trustee', via: 'basic' }],
    ...['admin', 'partner', 'friend', 'associate'].map((relationship): [string, Caller] => [
      relationship,
      { kind: 'peer', peerId: 'peer', relationship, approved: true, via: 'bearer' },
    ]),
  ]
  const byRole = callers.filter(([, caller]) => permission.mayTouch(caller, operation).allowed).map(([name]) => name)
  if (route.owner === undefined) return byRole.join(', ')
  const owner = `the peer that the address names${route.owner.standing === 'any' ? ', approved or not' : ''}`
  return route.owner.exclusive === true ? owner : [...byRole, owner].join(', ')
}

function code(text: string): string {
  return `\`${text}\``
}

if (import.meta.main) {
  commandOptions({
    command: 'npm run docs',
    about:
      'Writes the reference pages that are made from the code: docs/api.md, docs/configuration.md and docs/errors.md.',
    options: {},
  })
  const docs = join(dirname(import.meta.dirname), 'docs')
  for (const [file, text] of Object.entries(pages)) writeFileSync(join(docs, file), text())
}
