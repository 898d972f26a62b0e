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
