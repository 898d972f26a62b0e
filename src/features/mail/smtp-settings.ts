/** The server of `TROUPE_SMTP_URL`, and the sender of `TROUPE_MAIL_FROM`. */
import { parseAddress } from '../../actor/address.ts'
import { loopbackNames } from '../../config/other-base-urls.ts'

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** `tls`: from the start. `starttls`: required before anything else. */
  readonly encryption: 'tls' | 'starttls' | 'none'
  readonly login: { readonly user: string; readonly password: string } | null
}

export interface Sender {
  /** Empty: none. */
  readonly name: string
  readonly address: string
}

/** The ports of submission (RFC 8314 section 3). */
const ports = { smtps: 465, smtp: 587 }

/** Returns why a URL is not valid, without a part of the URL, which has a password. Null: it is valid. */
export function smtpUrlFault(text: string): string | null {
  const parsed = parsedUrl(text)
  return 'fault' in parsed ? parsed.fault : null
}

/** @param text A valid URL. @throws Error for another one. */
export function smtpServerOf(text: string): SmtpServer {
  const parsed = parsedUrl(text)
  if ('fault' in parsed) throw new Error(`Cannot use TROUPE_SMTP_URL: it ${parsed.fault}`)
  return parsed.server
}

type Fault = { readonly fault: string }

function parsedUrl(text: string): { readonly server: SmtpServer } | Fault {
  const url = URL.parse(text)
  const isTls = url?.protocol === 'smtps:'
  if (url === null || !(isTls || url.protocol === 'smtp:') || !isHost(url.hostname) || !/^\/?$/.test(url.pathname))
    return { fault: 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>' }
  const encryption = encryptionOf(url)
  if (typeof encryption === 'object') return encryption
  const login = loginOf(url)
  if (login !== null && 'fault' in login) return login
  if (encryption === 'none' && login !== null && !isLocal(url))
    return { fault: 'must not have a password with tls=off, because others could read it on the way' }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? ports[isTls ? 'smtps' : 'smtp'] : Number(url.port)
  return { server: { host, port, encryption, login } }
}

function encryptionOf(url: URL): SmtpServer['encryption'] | Fault {
  const isTls = url.protocol === 'smtps:'
  const isOff = url.search === '?tls=off'
  if (url.hash !== '' || (url.search !== '' && !isOff) || (isOff && isTls))
    return { fault: 'may have no parameter but tls=off, which needs smtp:' }
  if (isTls) return 'tls'
  return isOff || isLocal(url) ? 'none' : 'starttls'
}

function loginOf(url: URL): SmtpServer['login'] | Fault {
  const [user, password] = [decoded(url.username), decoded(url.password)]
  if (user === null || password === null) return { fault: 'must have a percent-encoded user and password' }
  if ((user === '') !== (password === '')) return { fault: 'must have both a user and a password, or neither' }
  return user === '' ? null : { user, password }
}

function isLocal({ hostname }: URL): boolean {
  return loopbackNames.includes(hostname.toLowerCase())
}

function isHost(host: string): boolean {
  return /^(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\])$/i.test(host)
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Null: not a sender. Line breaks and other control characters are refused, because the name becomes a header. */
export function parseSender(text: string): Sender | null {
  const [, name = '', inBrackets] = /^([^<>"]*)<([^<>]+)>$/.exec(text.trim()) ?? []
  const address = parseAddress(inBrackets ?? text)
  return address === null || /\p{C}/u.test(name) ? null : { name: name.trim(), address }
}

/** The host of the service, by which it names itself to mail servers and in message ids. */
export function publicHostOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl)
  // A bare IPv6 address is a domain literal (RFC 5321 section 4.1.3).
  return hostname.startsWith('[') ? hostname.replace('[', '[IPv6:') : hostname
}
