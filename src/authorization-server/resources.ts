/**
 * The resources of access tokens (RFC 8707): the endpoint of AI clients, the address of one actor, or the whole service. A
 * token for one of them is not valid at the others, so a server that receives it for one cannot use it for another.
 */
import { parseActorId } from '../actor/actor.ts'

/** The base URLs of this service, without a trailing slash. */
export interface ServiceAddresses {
  readonly baseUrl: string
  /** Further base URLs of the same service: former ones, and in development the other names of this machine. */
  readonly otherBaseUrls: readonly string[]
}

/** Names a resource by `BASE_URL` that a client knows by another one. It is the same service, so the token is valid. */
export function currentResource(resource: string, { baseUrl, otherBaseUrls }: ServiceAddresses): string {
  const [found = baseUrl] = [baseUrl, ...otherBaseUrls]
    .filter((base) => resource === base || resource.startsWith(`${base}/`))
    .toSorted((a, b) => b.length - a.length)
  return found === baseUrl ? resource : `${baseUrl}${resource.slice(found.length)}`
}

/** `mcp`: the endpoint of AI clients. `actor`: the addresses of the actor (`/<actor>/properties` …). */
export const scopes: readonly string[] = ['mcp', 'actor']

/** Validates `resource`: an absolute URL of this service without a fragment. Empty for none; null if invalid. */
export function audienceOf(resource: string | undefined, own: ServiceAddresses): string | null {
  if (resource === undefined) return ''
  const url = URL.parse(resource)
  if (url === null || resource.includes('#') || !/^https?:$/.test(url.protocol)) return null
  const { baseUrl } = own
  const canonical = currentResource(url.href.replace(/\/$/, ''), own)
  const isKnown = canonical === baseUrl || canonical === mcpResource(baseUrl)
  return isKnown || actorOf(canonical, baseUrl) !== null ? canonical : null
}

/** Returns the scopes of a resource. A client that requests no scope gets all of them. */
export function scopesOf(audience: string, baseUrl: string): readonly string[] {
  if (audience === '' || audience === baseUrl) return scopes
  return audience === mcpResource(baseUrl) ? ['mcp'] : ['actor']
}

/** Returns whether the resource is the address of another actor. Tokens of this actor would be valid nowhere. */
export function isOfOtherActor(audience: string, actorId: string, baseUrl: string): boolean {
  const named = actorOf(audience, baseUrl)
  return named !== null && named !== actorId
}

/** Returns whether a token with this audience is valid at `/mcp`. A token without a resource is for the whole service. */
export function isForMcp(audience: string, baseUrl: string): boolean {
  return ['', baseUrl, mcpResource(baseUrl)].includes(audience)
}

/** Returns whether a token with this audience is valid at the addresses of the actor. */
export function isForActor(audience: string, actorId: string, baseUrl: string): boolean {
  return ['', baseUrl, actorResource(baseUrl, actorId)].includes(audience)
}

export function mcpResource(baseUrl: string): string {
  return `${baseUrl}/mcp`
}

export function actorResource(baseUrl: string, actorId: string): string {
  return `${baseUrl}/${actorId}`
}

/** Returns the address of the metadata document of an actor as a resource (RFC 9728). */
export function actorMetadataUrl(baseUrl: string, actorId: string): string {
  return `${baseUrl}/.well-known/oauth-protected-resource/${actorId}`
}

/** Returns the actor whose address the URL is. Null for any other URL. */
function actorOf(url: string, baseUrl: string): string | null {
  return url.startsWith(`${baseUrl}/`) ? parseActorId(url.slice(baseUrl.length + 1)) : null
}
