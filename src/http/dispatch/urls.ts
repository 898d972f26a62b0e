/** Addresses that the service gives out: always the configured base, never what a request says its host is. */
import type { Config } from '../../config/options.ts'

export interface BaseUrl {
  /** Without a slash at the end. */
  readonly baseUrl: string
}

export interface HomeDeps extends BaseUrl {
  readonly config: Pick<Config, 'webUi'>
}

export function urlOf({ baseUrl }: BaseUrl, actorId: string): string {
  return `${baseUrl}/${actorId}`
}

/** Where a signed-in person goes: the pages of the actor, or the single-page application in their place. */
export function homeOf({ baseUrl, config }: HomeDeps, actorId: string): string {
  return `${baseUrl}/${actorId}/${config.webUi ? 'www' : 'app'}`
}
