/** The links of invitations. */
import { randomToken } from '../../secret/random.ts'
import { parseBaseuri } from '../baseuri.ts'

export interface InvitationLink {
  /** Root address of the actor that invites. */
  readonly baseuri: string
  /** Code that the trust request carries. */
  readonly code: string
}

/** Returns 128 random bits in base64url. */
export function newCode(): string {
  return randomToken(16)
}

export function isCode(text: string): boolean {
  return /^[\w-]{22}$/.test(text)
}

export function linkOf({ baseuri, code }: InvitationLink): string {
  return `${baseuri}/invite/${code}`
}

/** Parses the link of an invitation. Null: another URL. */
export function parseLink(url: string): InvitationLink | null {
  const [, root = '', code = ''] = /^([^?#]+)\/invite\/([^/?#]+)\/?(?:[?#].*)?$/.exec(url.trim()) ?? []
  const baseuri = parseBaseuri(root)
  return baseuri === null || !isCode(code) ? null : { baseuri, code }
}
