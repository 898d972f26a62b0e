/** Addresses that the service gives out: always the configured base, never what a request says its host is. */
export function urlOf(parts: { readonly baseUrl: string }, actorId: string): string {
  return `${parts.baseUrl}/${actorId}`
}
