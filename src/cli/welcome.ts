/** What a person reads when the service has started. */
import type { Parts } from '../http/parts.ts'

export function welcome(
  parts: Pick<Parts, 'config' | 'identity' | 'baseUrl' | 'providers'>,
  listeningAt: string,
): string {
  const { config, identity, baseUrl, providers } = parts
  const names = providers.all.map(({ displayName }) => displayName).join(', ')
  if (config.mode === 'production') return `${identity.name} is ready at ${baseUrl} (listening at ${listeningAt}).\n`
  return `
  ${identity.name} is ready at ${baseUrl}   (development mode)

  Create an actor     curl -X POST ${baseUrl}/ -H 'Content-Type: application/json' -d '{"creator":"you@example.com"}'
  or in a browser     ${baseUrl}/${names === '' ? '' : `   (${names})`}
  Read its data       curl -u 'you@example.com:<passphrase>' ${baseUrl}/<id>/properties
  What it can do      ${baseUrl}/openapi.json

  Data is kept in ${where(config.database)}. Ctrl-C stops the service.

`
}

/** Without the password that the address may hold. */
export function where(database: string): string {
  if (database.startsWith('sqlite:')) return database.slice('sqlite:'.length)
  const url = URL.parse(database)
  return url === null ? 'PostgreSQL' : `${url.protocol}//${url.host}${url.pathname}`
}
