/** The output after the service has started. */
import type { Service } from '../service.ts'

export function welcome(
  parts: Pick<Service['parts'], 'config' | 'identity' | 'baseUrl' | 'providers'>,
  listeningAt: string,
): string {
  const { config, identity, baseUrl, providers } = parts
  if (config.mode === 'production') return `${identity.name} is ready at ${baseUrl} (listening at ${listeningAt}).\n`
  const names = providers.all.map(({ displayName }) => displayName).join(', ')
  return `
  ${identity.name} is ready at ${baseUrl}   (development mode)

  ${names === '' ? 'Create your actor ' : 'Sign in           '}  ${baseUrl}/${names === '' ? '' : `   (${names})`}${
    config.mcp && names !== ''
      ? `
  Connect an AI app   ${baseUrl}/mcp`
      : ''
  }
  Write a program     ${baseUrl}/openapi.json
  Try it with curl    curl ${baseUrl}/ --json '{"creator":"you@example.com"}'

  Data is stored in ${where(config.database)}. Ctrl-C stops the service.

`
}

/** Explains how the first operator begins. Empty when the service has an operator, or no page or sign-in for one. */
export async function firstOperatorText({
  config,
  baseUrl,
  providers,
  firstOperator,
}: Pick<Service['parts'], 'config' | 'baseUrl' | 'providers' | 'firstOperator'>): Promise<string> {
  const code = await firstOperator.renew()
  if (code === null || !config.webUi || providers.all.length === 0) return ''
  return `
This service has no operator yet. Open this link and sign in to become the first one:

  ${baseUrl}/admin/first?code=${code}

It works once, within 24 hours, and the next start of the service replaces it. TROUPE_ADMINS and "troupe operators add" name operators without it.

`
}

/** Returns the location of the database without the password that its URL may contain. */
export function where(database: string): string {
  if (database.startsWith('sqlite:')) return database.slice('sqlite:'.length)
  const url = URL.parse(database)
  return url === null ? 'PostgreSQL' : `${url.protocol}//${url.host}${url.pathname}`
}
