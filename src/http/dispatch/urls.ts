/** The URLs of the service. They use the configured base URL, never the Host of a request. */
import type { Config } from '../../config/options.ts'

export interface BaseUrl {
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
}

export interface HomeDeps extends BaseUrl {
  readonly config: Pick<Config, 'webUi' | 'singlePage'>
}

export function urlOf({ baseUrl }: BaseUrl, actorId: string): string {
  return `${baseUrl}/${actorId}`
}

/** Returns the start page of a signed-in user: the single-page application, if there is one, or the pages of the actor. */
export function homeOf({ baseUrl, config }: HomeDeps, actorId: string): string {
  const hasOwnApp = config.singlePage !== null || !config.webUi
  return `${baseUrl}/${actorId}/${hasOwnApp ? 'app' : 'www'}`
}

/**
 * Checks the redirect target of a form: only URLs of this service are allowed.
 *
 * @returns the path within the service with its prefix, query and fragment; null for any other URL.
 */
export function parseRedirectTarget(
  wanted: string,
  { baseUrl, basePath }: Record<'baseUrl' | 'basePath', string>,
): string | null {
  // Browsers and URL parsers disagree on spaces, control characters and backslashes.
  if (!/^\/(?!\/)[!-~]*$/.test(wanted) || wanted.includes('\\')) return null
  const url = URL.parse(wanted, baseUrl)
  if (url === null || url.origin !== new URL(baseUrl).origin) return null
  const isWithin = url.pathname === basePath || url.pathname.startsWith(`${basePath}/`)
  // Dot segments are resolved by now. They may have left the prefix, or put a second slash at the front.
  return isWithin && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : null
}
