/** The URLs of the service. They use the configured base URL, never the Host of a request. */
import type { Config } from '../../config/options.ts'

export interface BaseUrl {
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
}

export interface HomeDeps extends BaseUrl {
  readonly config: Pick<Config, 'webUi'>
}

export function urlOf({ baseUrl }: BaseUrl, actorId: string): string {
  return `${baseUrl}/${actorId}`
}

/** Returns the start page of a signed-in user: the pages of the actor, or the single-page application. */
export function homeOf({ baseUrl, config }: HomeDeps, actorId: string): string {
  return `${baseUrl}/${actorId}/${config.webUi ? 'www' : 'app'}`
}
