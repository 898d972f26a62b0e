/** Addresses that the service gives out: always the configured base, never what a request says its host is. */
import type { Parts } from './parts.ts'

export function urlOf(parts: { readonly baseUrl: string }, actorId: string): string {
  return `${parts.baseUrl}/${actorId}`
}

/** Where a signed-in person goes: the pages of the actor, or the single-page application in their place. */
export function homeOf({ baseUrl, config }: Pick<Parts, 'baseUrl' | 'config'>, actorId: string): string {
  return `${baseUrl}/${actorId}/${config.webUi ? 'www' : 'app'}`
}
