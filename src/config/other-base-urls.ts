/** The base URLs at which a service answers besides `BASE_URL`. */
import type { Config } from './options.ts'

export interface OwnAddress {
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly config: Pick<Config, 'mode' | 'formerBaseUrls'>
}

/** The names of this machine in URLs. */
export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * Returns `BASE_URL` with the other names of this machine, at the same port. People give an AI client any of them, and the
 * built-in server listens at all of them. Empty in production, and for a `BASE_URL` that is not at such a name.
 */
export function loopbackBaseUrls({ baseUrl, config }: OwnAddress): readonly string[] {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  if (config.mode !== 'development' || !loopbackNames.includes(hostname)) return []
  const rest = `${port === '' ? '' : `:${port}`}${pathname.replace(/\/$/, '')}`
  return loopbackNames.filter((name) => name !== hostname).map((name) => `${protocol}//${name}${rest}`)
}

/** Returns the former base URLs, and in development the other names of a service on this machine. */
export function otherBaseUrls(service: OwnAddress): readonly string[] {
  return [...service.config.formerBaseUrls, ...loopbackBaseUrls(service)]
}
