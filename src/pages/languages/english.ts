/** The messages of the pages in English. Each message is a whole sentence or label, so that a translator can reorder its words. */
import { html } from 'hono/html'
import type { FlashMessage } from '../../http/dispatch/flash-messages.ts'
import type { ErrorCode } from '../../errors.ts'
import type { RuledCategory } from '../../permission/rules.ts'
import type { Why } from '../../sign-in/refusal.ts'
import type { Html } from '../shared/values.ts'
import { formatsOf, type TimeUnit } from './formats.ts'

/** The noun for an actor, in its English forms. @experimental */
export interface EnglishNoun {
  /** `account`. */
  readonly one: string
  /** `accounts`. */
  readonly many: string
  /** With its article: `an account`. */
  readonly a: string
}

/** The names that patterns cover, sorted by the form of the pattern. */
export interface Covered {
  /** True for every name. */
  readonly isAll: boolean
  readonly names: readonly string[]
  /** Names whose contents are covered: `notes` for `notes/*`. */
  readonly places: readonly string[]
  readonly beginnings: readonly string[]
  /** Patterns with wildcards in other places. */
  readonly shapes: readonly string[]
}

type Text = Html | string

/** Counts of one actor for operators. They are lower limits when `isPartial` is true. */
interface ListedAmounts {
  readonly values: number
  readonly items: number
  readonly bytes: number
  readonly isPartial: boolean
}

const { number, readNumber, numberText, readDate, and, or, plural, relative, date, day, exact, size } =
  formatsOf('en-GB')

function count(value: number, one: string, many: string): string {
  return `${number(value)} ${plural(value, { one, other: many })}`
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

function quote(name: string): string {
  return `“${name}”`
}

function quoted(names: readonly string[]): readonly string[] {
  return names.map(quote)
}

const frame = {
  skip: 'Skip to content',
  navigation: 'Main',
  breadcrumb: 'Breadcrumb',
  errorTitle: (title: string) => `Error: ${title}`,
  failing: (count: string) => `${count} failing`,
  open: (count: string) => `${count} waiting`,
  signOut: 'Sign out',
}

const navigation = {
  overview: 'Overview',
  requests: 'Requests',
  properties: 'Properties',
  files: 'Files',
  connections: 'Connections',
  subscriptions: 'Subscriptions',
  apps: 'Connected apps',
  activity: 'Activity',
  settings: 'Settings',
}

const notices = ({ one }: EnglishNoun): Record<FlashMessage, string> => ({
  saved: 'Saved.',
  created: 'Created.',
  added: 'Item added.',
  addedSeveral: 'Items added.',
  moved: 'Moved.',
  uploaded: 'File uploaded.',
  deleted: 'Deleted.',
  asked: 'Request sent. You’ll see it here when they answer.',
  connected: 'You’re connected.',
  approved: 'Approved.',
  withdrawn: 'Access paused.',
  resumed: 'Access resumed.',
  connectionEnded: 'Disconnected.',
  subscriptionEnded: 'Subscription ended.',
  reset: 'Access reset to the defaults of the access level.',
  allowed: 'Approved for one call.',
  refused: 'Denied.',
  followed: 'Subscribed.',
  actorSuspended: 'Suspended.',
  actorResumed: 'Resumed.',
  signedOutEverywhere: 'Signed out on all devices.',
  limitsReset: 'Limits reset.',
  accountOfOwnerDeleted: 'Account deleted.',
  operatorBegun: 'You are now an operator of this service.',
  operatorAdded: 'Operator added.',
  operatorRemoved: 'Operator removed.',
  redriven: 'Retrying the failed updates.',
  signedOut: 'Device signed out.',
  disconnected: 'App disconnected.',
  keyRevoked: 'Key revoked.',
  invitationRevoked: 'Invitation revoked.',
  roleGiven: 'Role saved. It applies to the next request.',
  memberRemoved: 'Member removed.',
  youAreSignedOut: 'You’ve been signed out.',
  accountDeleted: `Your ${one} was deleted.`,
  sessionExpired: 'Your session expired. Sign in to continue.',
  signedInAgain: 'Your session had expired. You’re signed in again.',
  undone: 'Undone.',
  undoneInPart: 'Undone, except for what has changed since.',
  historyDeleted: 'History deleted.',
  accessKept: 'The password keeps working.',
  accessRevoked: 'The password no longer works.',
  importBegun: 'Import started.',
  importStopped: 'Import stopped.',
  moveBegun: 'Move started.',
  moveStopped: 'Move stopped.',
  peersTriedAgain: 'Trying again.',
  passkeyAdded: 'Passkey added.',
  passkeyRemoved: 'Passkey removed.',
})

/** The message for each error that has no message of its own on the page. */
const errors: Record<ErrorCode, string> = {
  bad_request: 'That request isn’t valid. Check it and try again.',
  invalid_json: 'That isn’t valid JSON.',
  invalid_name: 'That name can’t be used. Choose another one.',
  invalid_value: 'That value can’t be used. Change it and try again.',
  invalid_index: 'That item no longer exists.',
  invalid_input: 'That input doesn’t have the expected form.',
  index_required: 'The list is too long for this search.',
  rejected: 'The application didn’t accept this value.',
  no_result: 'The application returned no result.',
  unauthorized: 'Sign in to continue.',
  actor_moved: 'This account has moved to another service.',
  arrival_refused: 'This service does not take the account.',
  archive_missing: 'The content of the account is needed again.',
  actor_suspended: 'This account is suspended. Ask the operator of this service.',
  actor_moving: 'This account is moving to another service. Try again in a moment.',
  insufficient_user_authentication: 'Sign in again, then repeat this.',
  forbidden: 'You don’t have access.',
  approval_required: 'The owner has to approve this call first.',
  approval_denied: 'The owner denied this call.',
  forged_request: 'This form is out of date. Reload the page and try again.',
  not_found: 'This page doesn’t exist. It may have been deleted.',
  actor_not_found: 'This page doesn’t exist. It may have been deleted.',
  method_not_allowed: 'This page doesn’t accept that kind of request.',
  conflict: 'This changed while you were editing. Check it and try again.',
  not_connected: 'Connect the service first.',
  no_address: 'No email address of this account is verified.',
  actor_exists: 'This email address is already in use.',
  creation_closed: 'You get access when you sign in for the first time.',
  creator_exists: 'This email address is already in use.',
  migration_failed: 'This value can’t be shown: it has an older form.',
  value_corrupted: 'This value is damaged.',
  list_corrupted: 'This list is damaged.',
  gone: 'This is no longer available.',
  answer_not_kept: 'This already ran, and its result is no longer available.',
  precondition_failed: 'This changed meanwhile. Reload the page and try again.',
  payload_too_large: 'That is too large.',
  uri_too_long: 'This address is too long.',
  range_not_satisfiable: 'The file doesn’t have this part.',
  key_reused: 'This was already sent with other content.',
  unsupported_media_type: 'This kind of content isn’t supported.',
  headers_too_large: 'Your browser sent too much data. Delete the cookies of this site and try again.',
  peer_refused: 'The other side refused this.',
  peer_failed: 'The other side can’t be reached right now. Try again later.',
  request_timeout: 'Sending took too long. Try again.',
  too_many_requests: 'Too many requests. Wait a moment and try again.',
  server_error: 'Something failed. Try again later.',
  secret_lost: 'A stored secret can no longer be read. Set it again, or ask the operator.',
  file_missing: 'The content of this file is missing.',
  not_implemented: 'This kind of request isn’t supported.',
  service_failed: 'The other service can’t be reached right now. Try again later.',
  provider_failed: 'The sign-in provider didn’t answer as expected. Try again.',
  unknown_kind: 'This version of the service does not know this kind of account.',
  newer_data: 'A newer version of this service stored this value.',
  store_unavailable: 'The service is temporarily unavailable. Try again later.',
  mail_unavailable: 'This service sends no email.',
  unavailable: 'This is temporarily unavailable. Try again later.',
  quota_exceeded: 'Your storage is full. Delete something you no longer need, and try again.',
  insufficient_storage: 'The storage for files is full.',
  shutting_down: 'The service is restarting. Try again in a moment.',
}

const failed = ({ one }: EnglishNoun) => ({
  notFound: 'Not found',
  noAccess: 'You don’t have access',
  conflict: 'This changed while you were editing',
  tooManyRequests: 'Too many requests',
  invalid: 'Something’s not right with that request',
  serviceFailed: 'Something went wrong on our side',
  back: `Back to your ${one}`,
  home: 'Go to home page',
  reference: (status: number, requestId: string) => html`Error ${status} · Request ID <code>${requestId}</code>`,
})

const live = {
  signedOut: 'You’ve been signed out. Reload the page to sign in.',
  deleted: 'This was deleted.',
  editing: 'Updated elsewhere while you were editing. Your draft stays, and saving shows both versions.',
  properties: (name: string) => `${name} updated`,
  trust: 'Connections updated',
  subscriptions: 'Subscriptions updated',
  sessions: 'Connected apps updated',
  approvals: 'Approvals updated',
  page: 'Page updated',
}

const forms = {
  cancel: 'Cancel',
  copy: 'Copy',
  copied: 'Copied',
  optional: (label: Text) => html`${label} <span class="kind">(optional)</span>`,
  required: (label: Text) => html`${label} <span class="kind">(required)</span>`,
  type: 'Type',
  valueTypes: { text: 'Text', number: 'Number', boolean: 'True or false', json: 'JSON' },
  asNumber: (label: string) => `${label}, as a number`,
  asBoolean: (label: string) => `${label}, true or false`,
  notSet: 'Not set',
  choose: 'Choose…',
  yes: 'Yes',
  no: 'No',
  timesInUtc: 'Date and time in UTC.',
  onePerLine: 'One on each line.',
  oneOfPerLine: (choices: readonly string[]) => `One on each line: ${choices.join(', ')}.`,
  pages: 'Pagination',
  previous: 'Previous',
  next: 'Next',
  readNumber: (text: string) => readNumber(text),
  numberText: (json: string) => numberText(json),
  readDate: (text: string) => readDate(text),
  pageNumber: (page: number) => number(page),
  pageOf: (page: number, pages: number) => `Page ${number(page)} of ${number(pages)}`,
  deletion: 'Delete…',
}

const time = {
  justNow: 'just now',
  relative: (value: number, unit: TimeUnit) => relative(value, unit),
  date: (at: Date, timeZone?: string) => date(at, timeZone),
  day: (at: Date, timeZone?: string) => day(at, timeZone),
  exact: (at: Date, timeZone?: string) => exact(at, timeZone),
}

const front = ({ one, many }: EnglishNoun) => ({
  signIn: (app: string) => `Sign in to ${app}`,
  create: `Create your ${one}`,
  continueToPage: 'Sign in to continue to the page that you opened.',
  withPassphrase: 'Sign in with your passphrase',
  continueWith: (provider: string) => `Continue with ${provider}`,
  continueAsTestUser: 'Continue as a test user',
  continueAs: (owner: string) => `Continue as ${owner}`,
  closed: `${capital(many)} are created by the application.`,
  about: 'What you get',
  aboutText: (app: string) =>
    `Your own space in ${app}: your data, at your own address, shared only with the people and apps you choose.`,
  isPrivate: 'Private by default. You decide who can view or edit what.',
  isConnected: 'Connect people, phones and AI assistants, all under the same permissions.',
  isErasable: 'Delete it any time, with everything in it.',
  developers: (href: string) => html`Developers: <a href="${href}">API reference</a>`,
  email: 'Email',
  createButton: `Create ${one}`,
  enterEmail: 'Enter your email address.',
  waits: (from: string) => `This ${one} came from ${from}. Its owner takes it over by the link that is shown there.`,
  otherOwner: (owner: string) => `You’re signed in as ${owner}, but this page belongs to another ${one}.`,
})

const created = ({ one }: EnglishNoun) => ({
  title: `Your ${one} is ready`,
  keep: `Save these now. We can’t show the passphrase again. Anyone who has it has full access to your ${one}.`,
  address: `${capital(one)} URL`,
  owner: 'Owner',
  passphrase: 'Passphrase',
  tryIt: 'Try the API',
  tryText: `List everything in your ${one}:`,
})

const home = ({ one, a }: EnglishNoun) => ({
  connect: 'Connect with someone',
  newProperty: 'New property',
  newDevice: (device: string, began: Html) =>
    html`New sign-in: <strong>${device}</strong>, ${began}. If it wasn’t you, sign that device out.`,
  newDeviceLink: 'View your devices',
  requestsTitle: 'Requests',
  waiting: (open: number) => `${number(open)} waiting`,
  nothingWaits: 'Nothing is waiting for you.',
  requestsLink: 'View all requests',
  wantsToConnect: (name: string, host: string) =>
    `${host === '' || name === host ? name : `${name} at ${host}`} wants to connect`,
  asksToRun: (name: string, title: string) => `${name} requests your approval: ${title}`,
  programCreated: `A program created ${a} under your name`,
  lists: (lists: number) => count(lists, 'list', 'lists'),
  noRequests: 'No pending requests',
  requests: (pending: number) => `${number(pending)} pending`,
  appLastUsed: (at: Html) => html`Last used ${at}`,
  noApps: 'None connected',
  thisDevice: (device: string) => `This one: ${device}`,
  byPassphrase: 'Opened with the passphrase',
  delivery: 'Delivery',
  failing: (subscriptions: number) => `${number(subscriptions)} failing`,
  undelivered: (peer: string, about: string, state: string) => `${peer} · ${about}: ${state}`,
  allDelivered: (subscribers: number) =>
    `${count(subscribers, 'subscription gets', 'subscriptions get')} your updates.`,
  noSubscribers: 'No one subscribes to your updates.',
  deliveryLink: 'View subscriptions',
  activity: 'Activity, 14 days',
  deniedCount: (denied: number) => `${number(denied)} denied`,
  requestCount: (requests: number) => (requests === 0 ? 'No requests.' : `${count(requests, 'request', 'requests')}.`),
  activityLink: 'View activity',
  chart: 'Requests per day',
  requested: 'Requests',
  denied: 'Denied',
  address: 'Your address',
  addressText: 'Share it to let others connect with you.',
  mcpUrl: 'MCP server, for AI clients',
  accountUrl: `${capital(one)} URL`,
  apiReference: 'API reference',
  publicProfile: 'Public profile',
  getStarted: 'Get started',
})

const settings = ({ one }: EnglishNoun) => ({
  profile: 'Profile',
  name: 'Display name',
  nameHint: 'People you connect with see it, when their access level lets them view your profile.',
  saveName: 'Save name',
  nameElsewhere: 'Edit your properties to change what others see of you.',
  appearance: 'Appearance',
  appearanceText: 'These choices apply to this browser.',
  language: 'Language',
  browserLanguage: 'Language of the browser',
  theme: 'Theme',
  browserTheme: 'Same as the browser',
  light: 'Light',
  dark: 'Dark',
  timeZone: 'Time zone',
  saveAppearance: 'Save appearance',
  signIn: 'Sign-in',
  byProvider: (provider: string) => html`You sign in with <strong>${provider}</strong>.`,
  byPassphrase: `Only the passphrase opens this ${one}.`,
  verifiedEmail: (email: string) => html`Your email is <strong>${email}</strong>, and it is verified.`,
  unverifiedEmail: (email: string) => html`Your email is <strong>${email}</strong>, and it isn’t verified.`,
  passkeysLink: 'Passkeys and recovery codes',
  devicesLink: 'View where you are signed in',
  operatorLink: 'Open the operator pages',
  export: 'Export your data',
  exportText:
    'One file with your properties, lists, files, connections, subscriptions, connected apps and activity, and with the changes that can be undone. Passwords, keys and other secrets are not in it.',
  exportButton: 'Download everything',
  import: 'Import an archive',
  importText: 'Bring in the properties, lists and files of such a file.',
  importLink: 'Choose an archive',
  move: 'Move to another service',
  moveText: 'Take everything to another service, with your connections.',
  moveLink: 'Move',
  deletion: `Delete ${one}`,
  deletionFold: `Delete ${one}…`,
  deletionText:
    'This permanently deletes all properties, files, connections, sessions and connected apps. Your connections are notified. This can’t be undone.',
  confirm: (owner: string) => html`Type <strong>${owner}</strong> to confirm`,
  deleteButton: `Delete ${one} permanently`,
  wrongConfirmation: (owner: string) => `That doesn’t match. Type ${owner} exactly to delete your ${one}.`,
})

const device = {
  title: 'Connect a device',
  text: 'Enter the code that your television, command line or other device shows.',
  code: 'Code on the device',
  continue: 'Continue',
  wrong: 'That code is wrong or has expired. Check it on the device, or start again there.',
  warning: 'Enter a code only if you see it on your own device right now. Never enter one that someone sent you.',
  compare: 'Continue only if your own device shows this code right now.',
  outcomes: { approved: 'Device connected', denied: 'Access denied', expired: 'The code has expired' },
  outcomeTexts: {
    approved: 'Go back to your device. It continues within a few seconds.',
    denied: 'The device gets no access.',
    expired: 'Start again on the device.',
  },
}

const emailLink = {
  email: 'Email',
  send: 'Send me a code',
  text: 'We email you a link and a code. You need no password.',
  sent: 'Check your email',
  sentText: (address: string) =>
    html`If <strong>${address}</strong> can receive email, a link and a code arrive within minutes. Open the link in this browser, or enter the code here. Both are valid for ten minutes.`,
  code: 'Code',
  enter: 'Sign in',
  again: 'Send another code',
  confirm: 'Finish signing in',
  confirmText: 'Press the button to sign in here.',
  notSent: 'The email couldn’t be sent. Try again later.',
}

/** The values of a message by email. Those that others chose are visible characters, cut to 80. */
type MailValues<Names extends string = never> = Readonly<Record<'service' | Names, string>>

const mail = {
  signInLink: ({ service, code }: { readonly service: string; readonly code: string }) => ({
    subject: `Sign in to ${service}`,
    lines: [
      `Open the link in the browser in which you began to sign in, or enter the code ${code} there. Both are valid for ten minutes.`,
      'If you didn’t ask for this, ignore this message. Never give the code to anyone.',
    ],
    action: 'Sign in',
  }),
  verification: ({ service }: { readonly service: string }) => ({
    subject: `Confirm your email address for ${service}`,
    lines: [
      'Open the link to confirm that this address is yours. It is valid for one day.',
      'If you didn’t enter this address, ignore this message.',
    ],
    action: 'Confirm address',
  }),
  approval: ({ service, caller, operation }: MailValues<'caller' | 'operation'>) => ({
    subject: `${service}: a call waits for your approval`,
    lines: [
      `${caller} wants to run “${operation}” and needs your approval. The call waits for 15 minutes.`,
      'The page shows what would happen. If you don’t expect this call, deny it.',
    ],
    action: 'Review the call',
  }),
  invitation: ({ service, peer }: MailValues<'peer'>) => ({
    subject: `${service}: your invitation was accepted`,
    lines: [
      `${peer} accepted your invitation and is now connected.`,
      'If you gave the link to someone else, open the connection and end it.',
    ],
    action: 'View the connection',
  }),
  newDevice: ({ service, device }: MailValues<'device'>) => ({
    subject: `New sign-in to ${service}`,
    lines: [
      `Someone signed in on a device that was not used before: ${device}.`,
      'If that was you, ignore this message. Otherwise, sign that device out and check how you sign in.',
    ],
    action: 'View your devices',
  }),
  operatorLink: ({ service }: MailValues) => ({
    subject: `A link to sign in to ${service}`,
    lines: [
      'An operator of the service made a link that signs in to your account once, within an hour.',
      'If you did not ask the operator for it, open your activity and ask who made it.',
    ],
    action: 'View the activity',
  }),
  failing: ({ service, peer }: MailValues<'peer'>) => ({
    subject: `${service}: a connection doesn’t receive your updates`,
    lines: [
      `Updates to ${peer} have failed for a day. The service keeps trying.`,
      'If you no longer need the connection, end it.',
    ],
    action: 'View the connection',
  }),
  moveStarted: ({ service, to }: MailValues<'to'>) => ({
    subject: `Your move from ${service} has started`,
    lines: [
      `Everything moves to ${to}. Until the move ends, nothing can be changed here.`,
      'If you didn’t start the move, open the page and stop it.',
    ],
    action: 'View the move',
  }),
  moveFinished: ({ service, to }: MailValues<'to'>) => ({
    subject: `Your move from ${service} has finished`,
    lines: [
      `Everything is at ${to} now. The page here has the link by which you take it there.`,
      'Sign in here first, as before.',
    ],
    action: 'View the move',
  }),
  exported: ({ service }: MailValues) => ({
    subject: `${service}: the export of your data is ready`,
    lines: [
      'An archive with everything that is stored for you was made for a download.',
      'If that wasn’t you, sign your other devices out.',
    ],
    action: 'View the activity',
  }),
  quota: ({ service, uses }: MailValues & { readonly uses: readonly string[] }) => ({
    subject: `${service}: your storage is almost full`,
    lines: [
      'You have used at least 90% of what can be stored.',
      ...uses,
      'When the limit is reached, nothing more is stored. Deleting makes room.',
    ],
    action: 'View your storage',
  }),
  footer: (service: string) => `${service} sent this message automatically.`,
  unsubscribe: 'Stop these messages',
  choices: 'Messages by email',
  choicesText: 'Choose which messages you receive at your verified address.',
  kinds: {
    application: 'Messages of this application',
    approval: 'Calls that wait for your approval',
    invitation: 'Accepted invitations',
    failing: 'Connections that don’t receive your updates',
    export: 'Exports of your data',
    quota: 'Storage that is almost full',
  },
  always: 'Messages about sign-ins and the security of your account are always sent. They can’t be turned off.',
  save: 'Save choices',
  unsubscribeText: (kind: string) => html`Stop receiving these messages: <strong>${kind}</strong>?`,
  unsubscribed: 'You no longer receive these messages.',
  unsubscribedText: 'You can turn them on again in the settings of your account.',
}

const freshSignIn = ({ one }: EnglishNoun) => ({
  needed: `Sign in again first. This protects your ${one} on devices where you stay signed in.`,
  link: 'Sign in again',
})

const passkeys = ({ one, a }: EnglishNoun) => ({
  title: 'Passkeys',
  signIn: 'Sign in with a passkey',
  create: `New here? Create ${a}`,
  createText:
    'You need no password and no email address. Your device asks for your fingerprint, your face or your PIN.',
  owner: 'Your name',
  ownerHint: `It names your ${one}. Don’t use an email address.`,
  ownerInvalid: (longest: number) => `Enter a name of 1 to ${number(longest)} characters, without @ and colon.`,
  createButton: `Create ${one} with a passkey`,
  lost: 'Sign in with a recovery code',
  lostText: `Use one of the codes that you saved when you created your ${one}. Each code works once.`,
  code: 'Recovery code',
  useCode: 'Sign in',
  about: 'What is a passkey?',
  aboutText:
    'A passkey replaces your password. It stays on your device or in your password manager, which unlocks it by fingerprint, face or PIN. It works for this service only, so no other site can ask for it.',
  needsScript: 'Passkeys need JavaScript. Turn it on and load the page again.',
  cancelled: 'Nothing happened: you canceled, it took too long, or this device has no passkey for this service.',
  known: 'This device already has a passkey for this service.',
  unsupported: 'This browser doesn’t support passkeys. Update it, or use another one.',
  failed: 'The passkey didn’t work. Load the page again and retry.',
  codes: 'Recovery codes',
  codesText: `Save these codes now, in a password manager or on paper. They’re shown only once. Each code opens your ${one} once, if you lose your passkeys.`,
  codesSaved: 'I saved them. Continue',
  codesLeft: (left: number) =>
    left === 0
      ? 'You have no recovery codes. Create some, so that you can sign in if you lose your passkeys.'
      : `You have ${count(left, 'unused recovery code', 'unused recovery codes')}, in case you lose your passkeys.`,
  newCodes: 'Create new codes',
  newCodesText: 'Ten new codes are shown. Codes that you saved before stop working.',
  newCodesButton: 'Create and show codes',
  none: 'No passkeys yet.',
  fingerprint: 'Fingerprint, for the operator of this service:',
  off: 'This service doesn’t offer sign-in with passkeys.',
  facts: (created: Html, used: Html | null, synced: boolean) =>
    html`Added ${created} · ${used === null ? 'never used' : html`last used ${used}`}${synced ? ' · synced between your devices' : ''}`,
  name: 'Name',
  nameHint: 'To recognize it later, for example by the device.',
  nameInvalid: (longest: number) => `Enter a name of 1 to ${number(longest)} characters.`,
  rename: (name: string) => html`Rename<span class="unseen"> ${name}</span>`,
  saveName: 'Save name',
  remove: (name: string) => html`Remove<span class="unseen"> ${name}</span>`,
  removeText: 'It no longer signs you in. Also delete it on your device or in your password manager.',
  removeButton: 'Remove passkey',
  isLast: `You can’t remove your only passkey: nothing else opens your ${one}. Add another one first.`,
  add: 'Add a passkey',
  addText: 'Add one for each of your devices, unless your password manager shares them.',
  addButton: 'Add passkey',
  notAdded: 'You already have this passkey, or too many.',
})

const accessMap = {
  title: 'Who can access what',
  legend: 'Thin: view. Thick: edit or run. Dashed: asks you first. Dotted: in part.',
  text: 'This is what the access levels and your changes allow now. The application may hide more. “Everything else” shows the most they can do with any of these properties.',
  people: 'People and apps',
  data: 'Your data',
  rest: 'Everything else',
  restDetail: (properties: number) => count(properties, 'property', 'properties'),
  calls: 'Actions and tools',
  more: (others: number) => `${count(others, 'more person or app', 'more people and apps')} with access`,
  table: 'Show as table',
  none: 'No access',
  part: 'In part',
  view: 'View',
  edit: 'Edit',
  run: 'Run',
  ask: 'Asks first',
  both: 'Run, some ask first',
}

const firstSteps = ({ one }: EnglishNoun) => ({
  title: 'Get started',
  done: 'Done',
  data: 'Add your first data',
  dataText: 'Store text, numbers, lists or JSON.',
  dataButton: 'Add a property',
  connection: 'Connect with someone',
  connectionText: `Share data with another ${one}. You choose what they see and can stop at any time.`,
  connectionButton: 'Invite someone',
  app: 'Connect an app',
  appText: 'Give an AI assistant, phone or script limited access. Disconnect it any time.',
  appButton: 'Connect an app',
})

const signIn = ({ one, a }: EnglishNoun) => ({
  signOut: (app: string) => `Sign out of ${app}?`,
  signOutText: 'Another site sent you to this page.',
  signOutButton: 'Sign out',
  email: 'Confirm your email',
  emailText: (provider: string) => `${provider} doesn’t say which email address is yours. Enter the one to use here.`,
  emailLabel: 'Email',
  continue: 'Continue',
  verify: 'Verify your email',
  verifyText: `Someone entered this email address here for ${a}. Verify it if that was you.`,
  verifyButton: (address: string) => `Verify ${address}`,
  verifyIgnore: 'Didn’t request this? Close this page; nothing will change.',
  verified: 'Email verified',
  verifiedText: 'Thank you. Your email address is verified.',
  claim: `There is already ${a} with this email`,
  claimText: (email: string) =>
    html`You’ve proved that <strong>${email}</strong> is yours. Someone created ${a} with it earlier without verifying it.`,
  claimPassphrase: 'I created it. Passphrase',
  claimOpen: `Open the existing ${one}`,
  claimNew: `Start a new ${one}`,
  claimAbout: `What happens to the existing ${one}?`,
  claimJoin: `If you created it, its passphrase opens it here, with everything in it.`,
  claimLink:
    'If you created it with this email address, open the link that was sent to you, in the browser where you entered the address. Then sign in here again.',
  claimOther: `If you start a new one, the old ${one} stays with the person who created it, with no access to yours.`,
  claimDecide: 'On the page “Programs with a password” you then decide whether its passphrase keeps working.',
})

const signInErrors = {
  wrongPassphrase: 'That passphrase is wrong.',
  invalidEmail: 'Enter a valid email address, like you@example.com.',
  emailTaken: 'This email address is already in use.',
  noCookie:
    'Your browser sent no cookie of this service. It may block cookies, or you began in another browser, app or private window. Allow cookies for this site, then begin again and stay in one browser.',
  cookieNeedsHttps:
    'Your browser sent no cookie of this service. The service runs over http, and its cookies need https, so most browsers don’t keep them. Ask the operator to serve it over https.',
}

/** Why a sign-in at a provider was refused. */
const signInRefusals: Record<Why, string> = {
  exchange_failed: 'The provider didn’t confirm your sign-in. Try again.',
  identity_failed: 'The provider didn’t say who you are. Try again.',
  lookup_failed: 'The provider didn’t return your email address. Try again.',
  no_address: 'The provider didn’t confirm an email address for you.',
  assertion_invalid: 'This sign-in isn’t valid here. Try again.',
  address_unverified: 'Your email address isn’t verified. Verify it in the application, then sign in again.',
  address_invalid: 'The application has no valid email address for you.',
  other_identity: 'You signed in with a different account than expected. Sign in again with the right one.',
  rejected: 'The application didn’t accept this sign-in.',
  unknown_passkey: 'That passkey opens nothing here. Choose another one, or sign up.',
  unknown_code: 'That isn’t an unused recovery code.',
  unknown_email_code: 'That code isn’t valid for this sign-in, has expired, or was used before.',
  has_account: 'You have another account here. Delete that one first, or choose another way to sign in.',
  already_taken: 'Someone has already taken over this account with its link.',
  name_taken: 'That name is already in use. Begin again with another name.',
}

const testUsers = {
  title: 'Choose a test user',
  text: html`<strong>Development only</strong>, no password needed. In production, your configured sign-in providers appear instead.`,
  signInAs: (name: string) => `Sign in as ${name}`,
  other: 'Or use another email',
  email: 'Email',
  signIn: 'Sign in',
  cancel: 'Cancel',
  over: 'This sign-in has expired',
  overText: 'It timed out or the server restarted. Go back and sign in again.',
}

const consent = ({ one }: EnglishNoun) => ({
  title: (client: string, app: string) => `${client} wants to connect to your ${app} ${one}`,
  signedInAs: (owner: string) => html`Signed in as <strong>${owner}</strong>`,
  publisher: 'Verified publisher',
  returnsTo: 'Returns to',
  isLocal: 'This app runs on your computer. Continue only if you just started it.',
  access: (client: string) => `${client} will be able to`,
  accessOf: (level: string) => html`Access in detail<span class="unseen">: ${level}</span>`,
  allow: 'Allow',
  allowWith: (provider: string) => `Sign in with ${provider} to allow`,
  useOther: (provider: string) => `Use another ${provider} account`,
  deny: 'Deny',
  about: 'About this request',
  unverified: 'App names aren’t verified. Check the address above.',
  noPassword: 'The app never sees your password.',
  canEnd: 'You can review what it does in Activity and disconnect it any time under Connected apps.',
  noProvider: 'You can’t sign in here: no sign-in provider is configured.',
  foreign: 'Another site sent this decision. Nothing was allowed.',
  expired: 'This page has expired or was already used. Start again from the app.',
  leaving: 'Back to the app',
  leavingText: 'Your answer is on its way to the app. If the app doesn’t open, continue here:',
  decided: 'You already answered',
  decidedText: 'Your first answer counts. If the app is still waiting, start again there.',
  continueTo: (target: string) => `Continue to ${target}`,
  signedOut: `You’re no longer signed in to this ${one}. Start again from the app.`,
})

const passwordAccess = ({ one, many, a }: EnglishNoun) => ({
  title: 'Programs with a password',
  text: `Programs can create ${many} under any name, each with a password. You proved that the name is yours, so you decide.`,
  empty: `No program created ${a} under your name.`,
  firstShown: (shown: number) => `Showing the first ${number(shown)}. The others appear when you have decided.`,
  own: `This ${one}`,
  other: `Another ${one} under your name`,
  ownPending: `A program with a password created this ${one}. Keep or revoke its access.`,
  ownKept: `A program with a password created this ${one}. You keep its access.`,
  ownRevoked: `A program with a password created this ${one}. You revoked its access.`,
  otherPending: 'A program with a password created it. Keep or revoke its access.',
  otherKept: 'A program with a password created it. You keep its access.',
  otherRevoked: 'A program with a password created it. You revoked its access.',
  address: `${capital(one)} URL`,
  creator: 'Name in the program’s credentials',
  proven: 'You proved that the name is yours',
  reachRevoked: `The password no longer works. The data in the ${one} is still there.`,
  reachOwn: `Until you revoke it, anyone with the password can view and edit everything in this ${one}, as you can.`,
  reachOther: `Anyone with the password can view and edit that ${one}. The password gives no access to your data, and you can’t see the data there.`,
  keep: (creator: string, id: string) => html`Keep access<span class="unseen"> of ${creator} to ${id}</span>`,
  revoking: 'Revoke access…',
  revokeText: `The password stops working right away, permanently. The data in the ${one} stays, with the connections and apps that the program added.`,
  revoke: 'Revoke access',
  gone: `This ${one} no longer exists.`,
})

const requests = {
  calls: 'Calls that need your approval',
  connections: 'Connections',
  failures: 'Updates that don’t arrive',
  review: 'Review',
  destructive: 'Destructive',
  wantsToConnect: (name: string, level: string) => `${name} wants to connect as ${level}`,
  history: 'History',
  historyOff: 'Activity is turned off for this service, so decisions aren’t kept.',
  noHistory: 'You haven’t decided anything yet.',
  decided: (name: Html, what: string) => html`${name} ${what}`,
  approved: 'Approved',
  denied: 'Denied',
  newest: 'Newest',
  older: 'Older',
}

const approvals = {
  empty: 'You’re all caught up.',
  requested: (asked: Html, expires: Html) => html`Requested ${asked} · expires ${expires}`,
  requestedBy: (name: string) => `Requested by ${name}`,
  unverifiedApp: 'An app. Its name isn’t verified.',
  fromHost: (host: string) => html`From <strong>${host}</strong>. The name isn’t verified.`,
  wants: (name: string, title: string) => `${name} wants to: ${title}`,
  details: 'Details',
  noInput: 'No input',
  otherInput: 'Other values',
  namedByCaller: (name: string) => `${name} chose these names. The application doesn’t describe them.`,
  noPreview: 'The effect of this call can’t be shown right now.',
  once: (expires: Html) => html`This approves one call only. Expires ${expires}.`,
  allow: 'Allow once',
  deny: 'Deny',
  withdraw: 'Withdraw approval',
  approved: (name: string) => `Approved. Waiting for ${name} to continue.`,
  denied: 'Denied.',
  used: 'Approved and completed.',
  expired: 'This request has expired or the app was disconnected.',
  decided: 'This request was already answered or has expired.',
}

/** The call that waits for approval. */
const calls = {
  methods: (name: string, asked: Html, by: Text) => html`Method <code>${name}</code>, requested ${asked} by ${by}`,
  actions: (name: string, asked: Html, by: Text) => html`Action <code>${name}</code>, requested ${asked} by ${by}`,
  tools: (name: string, asked: Html, by: Text) => html`Tool <code>${name}</code>, requested ${asked} by ${by}`,
  prompts: (name: string, asked: Html, by: Text) => html`Prompt <code>${name}</code>, requested ${asked} by ${by}`,
  resources: (name: string, asked: Html, by: Text) => html`Resource <code>${name}</code>, requested ${asked} by ${by}`,
}

const values = {
  object: (fields: number) => `Object · ${count(fields, 'field', 'fields')}`,
  array: (items: number) => `Array · ${count(items, 'item', 'items')}`,
  list: (items: number) => `List · ${count(items, 'item', 'items')}`,
  anyList: 'List',
  damagedList: 'List, damaged',
  text: 'Text',
  number: 'Number',
  boolean: 'Boolean',
  null: 'Null',
  emptyText: 'Empty text',
  emptyObject: 'Empty object',
  emptyArray: 'Empty array',
  more: (parts: number) => `${number(parts)} more not shown.`,
  moreItems: (items: number) => `and ${count(items, 'more item', 'more items')}`,
  deleted: 'Deleted',
  notSet: 'Not set yet',
}

function viewers(people: number, apps: number): string {
  const said = count(people, 'person', 'people')
  if (apps === 0) return said
  return people === 0 ? count(apps, 'app', 'apps') : `${said}, ${count(apps, 'app', 'apps')}`
}

const types = {
  text: 'Text',
  number: 'Number',
  boolean: 'Boolean',
  object: 'Object',
  array: 'Array',
  list: 'List',
}

const properties = {
  title: 'Properties',
  empty: 'No properties yet. Store your first value or list above.',
  noMatch: 'No property matches.',
  showAll: 'Show all properties',
  searchLabel: 'Name or beginning of a value',
  types: 'Types',
  allTypes: 'All',
  columns: { name: 'Name', type: 'Type' },
  visibleColumn: 'Visible to',
  onlyYou: 'Only you',
  visibleTo: (people: number, apps: number) => viewers(people, apps),
  atLeast: (people: number, apps: number) => `At least ${viewers(people, apps)}`,
  showViewers: 'Who can view this?',
  viewers: 'Who can view this',
  canView: 'View',
  canEdit: 'View and edit',
  otherViewers: (others: number) => `${number(others)} more not shown.`,
  selection: 'Selection',
  select: (name: string) => `Select ${quote(name)}`,
  noneSelected: 'Select at least one property.',
  exportAll: 'Export JSON',
  exportSelected: 'Export selected',
  deleteSelected: 'Delete selected…',
  deleteCount: (properties: number) => `Delete ${count(properties, 'property', 'properties')}`,
  deleteManyText: (properties: number) =>
    plural(properties, {
      one: 'The property can’t be restored. Subscribers are notified.',
      other: 'The properties can’t be restored. Subscribers are notified.',
    }),
  deleteKeptText: (days: number) =>
    `You can undo this for ${count(days, 'day', 'days')}, except for what is too long to keep. Subscribers are notified.`,
  keep: 'Keep',
  readOnly: (kind: string) => `${kind} · Read-only`,
  notSet: 'Not set yet',
  exists: (name: string) => `${quote(name)} already exists`,
  stored: 'Stored now',
  yours: 'Yours',
  saveMine: 'Save mine',
  open: (name: string) => `Open ${quote(name)}`,
  newTitle: 'New property',
  value: 'Value',
  list: 'List',
  name: 'Name',
  description: 'Description',
  explanation: 'Item format (AI clients see this)',
  createValue: 'Create property',
  createList: 'Create list',
  viewJson: 'View JSON',
  developers: 'For developers',
  developersText:
    'These programs send an API key from the environment variable TROUPE_KEY. The key’s access must include this property.',
  setIt: 'Set the value',
  save: 'Save',
  edit: 'Edit',
  editJson: 'Edit as JSON',
  managed: (app: string) => `Managed by ${app}; you can’t edit it.`,
  tooLarge: 'Too large to edit here. Use the API.',
  deleteValue: (name: string) => `Delete ${quote(name)}`,
  deleteValueText: (name: string) => `Delete ${quote(name)}? This can’t be undone. Subscribers are notified.`,
  deleteKeptValueText: (name: string, days: number) =>
    `Delete ${quote(name)}? You can undo this for ${count(days, 'day', 'days')}. Subscribers are notified.`,
  nameMissing: 'Enter a name.',
  valueMissing: 'Enter a value.',
  listExists: (name: string) => `The list ${quote(name)} already exists. Choose another name.`,
  nameExists: (name: string) => `${quote(name)} already exists. Choose another name.`,
  notFound: (name: string) => `There’s no property called ${quote(name)}. It may have been deleted.`,
  rejected: (app: string, name: string) => `${app} didn’t accept this value for ${quote(name)}.`,
  invalidJson: (line: number, column: number) => `Invalid JSON at line ${number(line)}, column ${number(column)}.`,
  notANumber: (text: string) => `${quote(text)} isn’t a number. Write 1.5 or 1,000, for example.`,
  notADate: (text: string) => `${quote(text)} isn’t a date. Write 24 Dec 2026 or 2026-12-24, for example.`,
  notATime: (text: string) => `${quote(text)} isn’t a date with a time. Write 24 Dec 2026, 18:30, for example.`,
  notABoolean: (text: string) => `${quote(text)} is neither true nor false.`,
  notAChoice: (text: string) => `${quote(text)} isn’t one of the choices.`,
}

const list = {
  about: 'About the list',
  describe: 'Add a description',
  redescribe: 'Edit description',
  items: 'Items',
  empty: 'No items yet.',
  hidden: (app: string) => `This page of the list is hidden by ${app}.`,
  item: (position: number) => `Item ${number(position)}`,
  edit: (position: number) => html`Edit<span class="unseen"> item ${number(position)}</span>`,
  deleteItem: (position: number) => `Delete item ${number(position)}`,
  deleteItemText: (position: number) => `Delete item ${number(position)}? Later items move up.`,
  deleteList: 'Delete the list',
  deleteListText: (name: string, items: number) =>
    `Delete the list ${quote(name)} with ${count(items, 'item', 'items')}? This can’t be undone. Subscribers are notified.`,
  deleteKeptListText: (name: string, items: number, days: number) =>
    `Delete the list ${quote(name)} with ${count(items, 'item', 'items')}? You can undo this for ${count(days, 'day', 'days')}. Subscribers are notified.`,
  add: 'Add item',
  newItem: 'Item',
  addButton: 'Add item',
  addSeveral: 'Add several items',
  addSeveralButton: 'Add all',
  lines: 'One text on each line',
  jsonArray: 'JSON array',
  notAnArray: 'Enter a JSON array, such as ["one", "two"].',
  noItems: 'Enter at least one item.',
  deleted: 'The list was deleted while you were editing. Nothing was saved.',
  itemChanged: 'This item changed while you were editing. Review the current version below.',
  itemMissing: 'This item no longer exists.',
  notAPosition: 'Enter a position in the list.',
  tools: 'Actions',
  remove: (position: number) => html`Delete<span class="unseen"> item ${number(position)}</span>`,
  position: (total: number) => `Position, from 1 to ${number(total)}`,
  move: 'Move',
  moveUp: 'Up',
  moveDown: 'Down',
  itemGone: (position: number) => `Item ${number(position)} no longer exists.`,
}

const history = {
  title: 'History',
  titleOf: (name: string) => `History of ${quote(name)}`,
  link: 'History',
  text: (days: number) =>
    `What your properties and lists contained before each change of the last ${count(days, 'day', 'days')}. Only you can see this.`,
  off: 'The history is turned off for this service.',
  empty: 'No changes yet.',
  noOlder: 'No older changes.',
  newest: 'Newest',
  older: 'Older',
  only: (who: string) => `Only changes by ${who}.`,
  showAll: 'Show all',
  you: 'You',
  application: 'The application',
  other: 'Another caller',
  everyone: 'everyone',
  did: (who: Html, what: Html) => html`${who} ${what}`,
  was: (value: string) => `Before: ${value}`,
  nothing: 'nothing',
  tooLong: 'Too long to keep, so it can’t be undone',
  undo: 'Undo',
  undoAll: 'Undo all of these…',
  undoSince: (who: string) => `Undo everything by ${who} since then…`,
  undoTitle: 'Undo changes',
  undoText: (who: Html, since: Html | null) =>
    since === null ? html`Changes by ${who}.` : html`Changes by ${who} since ${since}.`,
  nothingToUndo: 'Nothing can be undone.',
  willBeUndone: (properties: number) => `${count(properties, 'property', 'properties')} will be as before`,
  willStay: (properties: number) => `${count(properties, 'property stays', 'properties stay')} as now`,
  reasons: {
    changed: 'Changed again since',
    too_long: 'Too long to keep',
    refused: 'The application doesn’t accept what it contained before',
  },
  undoButton: (properties: number) => `Undo ${count(properties, 'property', 'properties')}`,
  keep: 'Keep everything',
  remove: 'Delete history…',
  removeText: 'Deletes what your properties contained before. Those changes can then no longer be undone.',
  removeOneText: (name: string) =>
    `Deletes what ${quote(name)} contained before. Those changes can then no longer be undone.`,
  removeButton: 'Delete history',
  gone: 'There is nothing to undo. The history no longer has this change.',
  conflict: 'That can’t be undone: it has changed again since, or it was too long to keep.',
  acts: {
    createValue: (name: string) => `created ${quote(name)}`,
    setValue: (name: string) => `changed ${quote(name)}`,
    deleteValue: (name: string) => `deleted ${quote(name)}`,
    createList: (name: string) => `created the list ${quote(name)}`,
    deleteList: (name: string) => `deleted the list ${quote(name)}`,
    addItems: (name: string, items: number) => `added ${count(items, 'item', 'items')} to ${quote(name)}`,
    removeItems: (name: string, items: number) => `removed ${count(items, 'item', 'items')} from ${quote(name)}`,
    updateItems: (name: string, items: number) => `changed ${count(items, 'item', 'items')} of ${quote(name)}`,
    describeList: (name: string) => `changed the description of ${quote(name)}`,
    changeList: (name: string) => `changed the list ${quote(name)}`,
  },
}

const conflict = {
  title: 'Choose which version to keep',
  deletionTitle: 'Check it before you delete it',
  keep: 'Keep it',
  useStored: 'Use the stored version',
  noDescription: 'No description.',
  itemRemoved: 'The item was removed.',
  deleted: 'It was deleted.',
  addMine: 'Add mine as a new item',
  createAgain: 'Create it again with mine',
  typed: 'What you typed',
  cannotSave: 'It can’t be saved here: the name belongs to something else now. Copy what you need.',
  deleteAnyway: 'Delete it anyway',
}

const imports = ({ one, a }: EnglishNoun) => ({
  title: 'Import an archive',
  text: `Bring in the properties, lists and files that ${a} of this or another service exported. Connections, apps, history and activity are not brought in.`,
  upload: 'Choose an archive',
  file: 'Archive',
  fileHint: (largest: string) => `The file from “Export your data”, up to ${largest}.`,
  existing: `When your ${one} has something else under the same name`,
  keep: 'Keep what is here',
  replace: 'Replace it with the archive',
  button: 'Import',
  last: 'Last import',
  running: (position: number, records: number) => `Importing: ${number(position)} of ${number(records)} records.`,
  stop: 'Stop import',
  ended: 'The import has already ended.',
  done: (moment: Html) => html`Finished ${moment}.`,
  stopped: (moment: Html) => html`Stopped ${moment}. What came in stays. Import the archive again to continue.`,
  failed: (moment: Html) => html`Failed ${moment}. What came in stays. Import the archive again to continue.`,
  kind: 'Content',
  imported: 'Imported',
  same: 'Already here',
  number,
  kinds: { property: 'Properties', list: 'Lists', item: 'List items', file: 'Files' },
  kept: (names: number) => `Not imported: ${count(names, 'name', 'names')} in use`,
  keptText: `Your ${one} has something else under these names. To replace it, import the archive again and choose “Replace it with the archive”.`,
  refused: (records: number) => `Not accepted: ${count(records, 'record', 'records')}`,
  more: (names: number) => `and ${number(names)} more`,
  leftOut: (records: number) =>
    `${count(records, 'other record', 'other records')} of the archive, such as connections and activity, can only be restored by an operator.`,
  history: 'View and undo changes in History',
})

const moving = ({ one, a }: EnglishNoun) => ({
  title: 'Move to another service',
  text: `Take your ${one} to another service. Your old address then leads to the new one.`,
  begin: 'Move now',
  comes: 'Your data, files, history and connections come along. People you are connected with get the new address.',
  stays:
    'Connected apps, devices, API keys and accounts at other services stay behind. You choose a new way to sign in.',
  frozen: `During the move, your ${one} can’t be read or changed. Afterwards, it is deleted here.`,
  to: 'Address of the other service',
  toHint: 'Such as https://example.com. The service must accept moves.',
  button: `Move this ${one}`,
  wrongAddress: 'Enter the address of another service, such as https://example.com.',
  notAgreed: (said: string) =>
    said === '' ? 'The other service can’t be reached.' : `The other service didn’t agree: ${said}`,
  leaving: `Your ${one} is moving`,
  leavingText: (to: string, moment: Html) => html`To ${to}, started ${moment}.`,
  moved: `Your ${one} has moved`,
  movedText: (to: string) => `It is at ${to}, and waits for you there.`,
  claimText: `With this link, you take over your ${one} at the other service. It works once. Until then, you find it here when you sign in.`,
  claimLink: 'Continue at the other service',
  stop: 'Stop move',
  ended: 'The move has already ended.',
  failed: 'The last move failed',
  failedText: (to: string) => `Your ${one} is still here. It couldn’t move to ${to}.`,
  arrived: 'Moved here',
  arrivedText: (from: string, moment: Html) => html`From ${from}, ${moment}.`,
  peers: 'Your connections and the new address',
  states: {
    waiting: 'Not sent yet',
    informed: 'Received',
    asked: `Asked to connect again, because ${a} of that service can’t follow a move`,
    kept: `Uses the former address, because ${a} of that service can’t follow a change`,
    failed: 'Couldn’t be sent',
  },
  more: (peers: number) => `and ${number(peers)} more`,
  retry: 'Try again',
})

const arrival = ({ one }: EnglishNoun) => ({
  title: `Take over your ${one}`,
  text: (from: string) => `It came from ${from}.`,
  keepTitle: 'What may stay connected',
  keepText: `These came along, and can see what your ${one} has from now on. The names are not verified. Tick only what you know. Everything else ends now.`,
  kinds: {
    relationship: 'Connections',
    webhook: 'Webhooks',
    companion: 'Accounts at other services',
    invitation: 'Open invitations',
    trustee: 'Account to which this one belongs',
  },
  noName: 'No name',
  ownRights: 'with changed access',
  allTitle: 'All of them',
  all: (readers: number) => `I know all ${readers}: keep them`,
  listChanged: 'This list has changed. Check it again.',
  signInTitle: 'How you’ll sign in from now on',
  coming: `Your ${one} is on its way`,
  comingText: (from: string) => `It is coming from ${from}. Try again in a moment.`,
  reload: 'Reload',
  used: 'This link doesn’t work',
  usedText: 'It was used before, or isn’t complete. If you have signed in here before, sign in again.',
  signIn: 'Go to sign-in',
  byPassphrase: 'Use a passphrase',
  takenText: 'Save the new passphrase now. It is shown only this time.',
  name: 'Name',
  passphrase: 'Passphrase',
  open: `Open your ${one}`,
})

const files = ({ one }: EnglishNoun) => ({
  title: 'Files',
  text: `Pictures, documents and other files in your ${one}. People and apps see a file only if you give them access to it.`,
  size: (bytes: number) => size(bytes),
  usage: (total: number, used: string, most: string) => `${count(total, 'file', 'files')} · ${used} of ${most}`,
  empty: 'No files yet.',
  noMore: 'No more files.',
  first: 'First page',
  next: 'Next',
  upload: 'Upload a file',
  name: 'Name',
  nameHint: 'Leave it empty to keep the name of the file. A file with the same name is replaced.',
  file: 'File',
  fileHint: (largest: string) => `Up to ${largest}.`,
  uploadButton: 'Upload',
  facts: (fileSize: string, type: string, updated: Html) => html`${fileSize} · ${type} · updated ${updated}`,
  delete: (name: string) => `Delete ${name}`,
  deleteText: 'Delete this file? This can’t be undone.',
  noFile: 'Choose a file.',
  gone: 'This file was already deleted.',
})

const subjects: Record<RuledCategory, string> = {
  properties: 'Properties',
  files: 'Files',
  methods: 'Methods',
  actions: 'Actions',
  tools: 'Tools',
  resources: 'Resources',
  prompts: 'Prompts',
}

/** Verbs for the rights of a person or app, as in “can view”. */
const verbs = {
  read: 'view',
  append: 'add to',
  write: 'edit',
  delete: 'delete',
  subscribe: 'subscribe to',
  call: 'call',
  execute: 'run',
  use: 'use',
  invoke: 'use',
}

const noAccess: Record<RuledCategory, string> = {
  properties: 'No properties or lists.',
  files: 'No files.',
  methods: 'No methods.',
  actions: 'No actions.',
  tools: 'No tools.',
  resources: 'No resources.',
  prompts: 'No prompts.',
}

/** Never “anything”, because a tool may do what an app can’t do directly. */
const direct = {
  properties: 'any property or list directly',
  files: 'any file',
  methods: 'any method',
  actions: 'any action',
  tools: 'any tool',
  resources: 'any resource',
  prompts: 'any prompt',
} as const satisfies Record<RuledCategory, string>

function objectsOf({ isAll, names, places, beginnings, shapes }: Covered): string {
  if (isAll) return 'everything'
  return and([
    ...quoted(names),
    ...(places.length === 0 ? [] : [`everything in ${and(quoted(places))}`]),
    ...(beginnings.length === 0 ? [] : [`names starting with ${or(quoted(beginnings))}`]),
    ...(shapes.length === 0 ? [] : [`names matching ${or(quoted(shapes))}`]),
  ])
}

function exceptionsOf({ isAll, names, places, beginnings, shapes }: Covered): string {
  if (isAll) return 'everything'
  return and([
    ...quoted(names),
    ...(places.length === 0 ? [] : [`the contents of ${and(quoted(places))}`]),
    ...(beginnings.length === 0 ? [] : [`names starting with ${or(quoted(beginnings))}`]),
    ...(shapes.length === 0 ? [] : [`names matching ${or(quoted(shapes))}`]),
  ])
}

const rights = ({ one }: EnglishNoun) => ({
  can: (verbs: readonly string[], objects: Covered, except: Covered | null, until: Date | null) =>
    `Can ${and(verbs)} ${objectsOf(objects)}${except === null ? '' : ` except ${exceptionsOf(except)}`}${until === null ? '' : ` until ${exact(until)}`}.`,
  blocked: (objects: Covered) => `Blocked: ${exceptionsOf(objects)}.`,
  cannot: (verbs: readonly string[], category: RuledCategory) => `Can’t ${or(verbs)} ${direct[category]}.`,
  onlyForApps: 'Only AI apps can use these.',
  mayChangeData: 'They do what the application defines, which can include editing and deleting your data.',
  editCoversItems: 'Editing a list includes adding and removing its items.',
  wholeAccount: (verbs: readonly string[]) => `Can ${and(verbs)} your whole ${one}.`,
  allConnections: (verbs: readonly string[]) =>
    `Can ${and(verbs)} your connections, including those with other people.`,
  allSubscriptions: (verbs: readonly string[]) => `Can ${and(verbs)} the subscriptions to your ${one}.`,
  allServices: (verbs: readonly string[]) => `Can ${and(verbs)} your connections to other services.`,
  act: (verb: string, name: string) => `${verb} ${quote(name)}`,
  verbs: (verbs: readonly string[]) => and(verbs),
  fullControl: (sentences: readonly string[]) => html`<strong>Full control:</strong> ${sentences.join(' ')}`,
  noDefault: 'No default access',
})

/** The reach of rights in the account now: `view 2 of your 3 properties`. */
const reached = {
  properties: (verb: string, some: number, all: number) =>
    `${verb} ${number(some)} of your ${count(all, 'property', 'properties')}`,
  lists: (verb: string, some: number, all: number) => `${verb} ${number(some)} of your ${count(all, 'list', 'lists')}`,
  files: (verb: string, some: number, all: number) => `${verb} ${number(some)} of your ${count(all, 'file', 'files')}`,
  methods: (verb: string, some: number, all: number) => `${verb} ${number(some)} of ${count(all, 'method', 'methods')}`,
  actions: (verb: string, some: number, all: number) => `${verb} ${number(some)} of ${count(all, 'action', 'actions')}`,
  tools: (verb: string, some: number, all: number) => `${verb} ${number(some)} of ${count(all, 'tool', 'tools')}`,
  resources: (verb: string, some: number, all: number) =>
    `${verb} ${number(some)} of ${count(all, 'resource', 'resources')}`,
  prompts: (verb: string, some: number, all: number) => `${verb} ${number(some)} of ${count(all, 'prompt', 'prompts')}`,
}

const review = ({ one }: EnglishNoun) => ({
  willBeAble: (who: string, level: string) =>
    html`<strong>${who}</strong> will be able to do this in your ${one}, as <strong>${level}</strong>:`,
  nothingNow: 'This gives no access to your current data.',
  now: 'With your current data, they can:',
  names: (act: string, names: readonly string[], more: number) =>
    html`${act}: <span class="names">${quoted(names).join(', ')}${more === 0 ? '' : ` and ${number(more)} more`}</span>`,
  confirm: (who: string) => html`To confirm, type <strong>${who}</strong> or their address`,
  confirmMissing: (who: string) => `To continue, type ${quote(who)} or their address.`,
  confirmWrong: (who: string) => `What you typed is neither ${quote(who)} nor their address.`,
  changed: 'This access changed while you were deciding. Review it again.',
  grants: (subject: string, sentences: readonly string[]) => html`<span>${subject}:</span> ${sentences.join(' ')}`,
  none: 'No access by default.',
})

const listing = { search: 'Search' }

const connections = ({ one }: EnglishNoun) => ({
  title: 'Connections',
  text: `People and apps connected to your ${one}. Each can do only what you allow.`,
  connect: 'Connect with someone',
  invite: 'Invite someone',
  empty: `No connections yet. Invite someone, send a request, or share your ${one} URL.`,
  inPicture: (shown: number) => `Showing the ${number(shown)} most recently active.`,
  you: 'You',
  searchLabel: 'Name, address or access level',
  kindFilter: 'Kinds of connections',
  allKinds: 'All',
  kinds: { people: 'People', apps: 'Apps', waiting: 'Pending', paused: 'Paused' },
  columns: { name: 'Name', level: 'Access level', state: 'State', active: 'Last active' },
  noMatch: 'No connection matches.',
  showAll: 'Show all connections',
  latest: 'Most recently active',
  pending: (requests: number) => count(requests, 'pending request', 'pending requests'),
  wants: (name: string, level: string) => html`<strong>${name}</strong> wants to connect as <strong>${level}</strong>.`,
  review: (name: string) => html`Review request<span class="unseen"> of ${name}</span>`,
  app: 'App',
  customAccess: 'Custom access',
  unnamed: (id: string) => `${capital(one)} ${id}`,
  claims: (name: string) => `Now calls itself “${name}”. You connected it under the name above.`,
  unverifiedName: 'Not verified. You connected it under another name.',
})

const standing = {
  waiting: 'Pending',
  asked: 'Request sent',
  approvedHere: 'Waiting for them',
  appActive: 'Active',
  appPaused: 'Paused',
  mutual: 'Connected',
  waitingText: 'Wants to connect. They have no access until you approve.',
  askedText: 'Request sent. Waiting for their approval.',
  pausedText: 'Access is paused on both sides.',
  approvedHereText: 'You approved. They haven’t approved yet.',
  mutualText: 'Connected.',
  appText: 'This app has access.',
  appPausedText: 'Access paused.',
}

const request = ({ one, a }: EnglishNoun) => ({
  title: 'Connect with someone',
  text: `They get a request, and access to your ${one} as selected below. They decide what you can access in theirs. You can change this later.`,
  address: `Their ${one} URL`,
  addressHint: 'They can copy it from their Overview page. An invitation link works too.',
  level: `What they can access in your ${one}`,
  message: 'Message',
  review: 'Review request',
  reviewTitle: 'Review your request',
  before: 'Before you send it',
  messageIs: (message: string) => html`Message: <q>${message}</q>`,
  notSent: 'Not sent yet. Their access starts as soon as the request arrives, before they accept it.',
  send: 'Send request',
  back: 'Back',
  addressMissing: `Enter their ${one} URL.`,
  addressInvalid: `Enter ${a} URL, like https://example.com/5f0c…`,
  ownAddress: `That’s your own ${one}.`,
  invitationInvalid: 'That isn’t an invitation link.',
  invitationEnded: 'This invitation was used, has ended or can’t be reached. Ask for a new one.',
  levelMissing: 'Choose what they can access.',
  levelUnknown: (level: string) => `There’s no access level called ${quote(level)}.`,
  levelPowerful: (level: string) => `${quote(level)} can only be given to an existing connection, on its page.`,
  levelForApps: (level: string) => `${quote(level)} is for apps.`,
  unreachable: `We couldn’t reach ${a} at this address. Check it and try again.`,
  alreadyConnected: (level: string) =>
    `You’re already connected to this ${one} as ${level}. Disconnect first to change it, or try again later.`,
})

const invite = ({ one }: EnglishNoun) => ({
  title: 'Invite someone',
  text: `Create a link and send it. The first person who opens it and confirms is connected with your ${one}, without a request to approve.`,
  valid: 'Valid for',
  days: (days: number) => count(days, 'day', 'days'),
  theySee: (name: string) => `They see your name: ${name}.`,
  withoutName: 'They don’t see your name, because you have no display name. You can set one in Settings.',
  create: 'Create the link',
  created: 'Send this link now',
  createdText: (level: string, end: Html) =>
    html`We can’t show it again. The first person who opens it can connect as <strong>${level}</strong>; it ends ${end}.`,
  link: 'Invitation link',
  byEmail: 'Send by email',
  qr: 'QR code of the link',
  open: (invitations: number) => count(invitations, 'open invitation', 'open invitations'),
  invitation: (nickname: string, level: string) =>
    nickname === '' ? html`<strong>${level}</strong>` : html`<strong>${nickname}</strong> as ${level}`,
  ends: (end: Html) => html`ends ${end}`,
  revoke: (who: string) => html`Revoke<span class="unseen">: ${who}</span>`,
  tooMany: (most: number) => `${number(most)} invitations are open. Revoke one first.`,
})

const invited = ({ one, a }: EnglishNoun) => ({
  title: (app: string) => `You’re invited to connect on ${app}`,
  titleFrom: (inviter: string, app: string) => `${inviter} invites you to connect on ${app}`,
  text: (level: string) => html`You get this access as <strong>${level}</strong>. Nothing happens until you confirm.`,
  nothingYet: 'Nothing happens until you confirm.',
  signIn: 'Sign in to continue',
  review: 'Review and connect',
  signedInAs: (who: string) => `You’re signed in as ${who}.`,
  own: 'This is your own invitation. Send its link to the person whom you want to connect with.',
  elsewhere: `Do you have ${a} elsewhere?`,
  elsewhereText: `Copy this link, and paste it there as the ${one} URL under “Connect with someone”.`,
  link: 'Invitation link',
  ended: 'This invitation was used or has ended. Ask for a new one.',
})

const peer = ({ one }: EnglishNoun) => ({
  approve: 'Approve this request?',
  resume: 'Resume access?',
  message: (message: string) => html`Message: <q>${message}</q>`,
  unverified: (host: string) =>
    html`<strong>Unverified address.</strong> We couldn’t confirm this request comes from ${host}. Approve only if you were expecting it.`,
  ifApproved: 'If you approve, they get the access listed below.',
  approveButton: 'Approve',
  decline: 'Decline',
  changeLevel: 'Change the access level',
  changeLevelText: (name: string, level: string) =>
    html`Now: <strong>${level}</strong>. ${name} gets a request for the new level, which applies to both of you.`,
  levelLegend: `What they can access in your ${one}`,
  reviewLevel: 'Review change',
  levelTitle: (level: string) => `Change the access level to ${level}?`,
  levelNotSent: 'Not sent yet. The new access starts as soon as the request arrives.',
  levelSend: 'Send request',
  cancel: 'Cancel',
  details: 'Details',
  address: 'Address',
  level: 'Access level',
  app: 'App',
  connected: 'Connected',
  lastActive: 'Last active',
  addressProof: 'Address proof',
  verified: 'Verified',
  notVerified: 'Not verified',
  firstMessage: 'Message',
  ownName: 'Name they chose',
  claimedName: 'Now calls itself',
  nickname: 'Nickname',
  nicknameHint: 'Only you see it, in place of the name that they chose.',
  addNickname: 'Add a nickname',
  changeNickname: 'Change the nickname',
  saveNickname: 'Save the nickname',
  profile: (name: string) => `Profile: ${name}`,
  updates: 'Their updates',
  subscribeText: (name: string) => `Subscribe to keep a live copy of what ${name} shares with you.`,
  subscribe: 'Subscribe',
  subscribed: (name: string, href: string) => html`Subscribed. <a href="${href}">View data from ${name}</a>`,
  access: 'Access',
  noAccessYet: 'No access yet. After approval:',
  byLevel: (level: string) => `Access level: ${level}. Anything not listed is blocked.`,
  customized: (level: string) => `${level}, customized by you. Anything not listed is blocked.`,
  viewAs: (name: string) => `View as ${name}`,
  viewActivity: 'View activity',
  recent: 'Recent activity',
})

const membership = ({ one }: EnglishNoun) => ({
  title: 'Members',
  text: 'Each member has one role, which decides what they can do in this group. The group gets no access to its members. It only sends them what it publishes.',
  none: 'No members yet.',
  all: 'Show all members',
  role: 'Role',
  noRole: 'No role yet',
  has: (role: string, since: Html) => html`<strong>${role}</strong> since ${since}`,
  manages: 'Manages the group',
  by: { application: 'Given by the application', invitation: 'Invited', owner: 'Given on this page' },
  byMember: (name: string) => `Given by ${name}`,
  change: 'Change the role',
  changeOf: (name: string) => html`Change role<span class="unseen">: ${name}</span>`,
  give: (name: string) => html`Give role<span class="unseen">: ${name}</span>`,
  roleOf: (name: string) => html`Role<span class="unseen">: ${name}</span>`,
  remove: 'Remove…',
  removeText: (name: string) => `${name} loses all access to the group right away, and is notified.`,
  removeButton: (name: string) => `Remove ${name}`,
  gone: 'This member left the group meanwhile.',
  roleUnknown: 'Choose one of the roles.',
  lastManager: 'The last manager keeps the role. Give another member a role that manages first.',
  requests: (requests: number) => count(requests, 'request', 'requests'),
  requestsText: 'They get access as soon as you give them a role, and none before.',
  roles: 'Roles',
  nothing: 'No access.',
  invite: 'Invite a member',
  inviteText: 'The first person who opens the link and confirms becomes a member with this role.',
  membership: 'Membership',
  asks: (name: string) => `${name} wants to become a member, and gets no access until you give a role.`,
  choose: 'Choose a role',
  roleDecides: 'The role of a member alone decides what they can access. To change it, give the member another role.',
  accessByRole: 'By the role of the member. Anything not listed is blocked.',
  byRole: (isAllowed: boolean): string =>
    isAllowed ? 'The role of the member allows it.' : 'The role of the member does not allow it.',
  toChange: 'To change this, give the member another role.',
  becomes: (group: string, kind: string, role: string) =>
    html`You become a member of <strong>${group}</strong> (${kind}) with the role <strong>${role}</strong>.`,
  described: (role: string, text: string) => `${role}: ${text}`,
  inGroup: 'In this group, the role gives you this access, as the group says:',
  oneWay: `The group gets no access to your ${one}. It only sends you what it publishes.`,
  otherWay: 'This connection gives the group more than a membership does:',
  notSent:
    'Not sent yet. Your membership begins when you confirm. The group can change your role or end it at any time.',
  send: 'Become a member',
  byInvitation: 'A membership begins with an invitation of the group. Enter its link.',
  mayChangeData: 'They do what the group defines, which can include editing and deleting its data.',
})

const peerErrors = {
  notConnected: 'Only an existing connection can get another access level.',
  levelMissing: 'Choose an access level.',
  levelUnknown: 'Choose one of the access levels below.',
  ended: 'This connection ended or changed while you were deciding.',
  changed: 'This connection changed while you were deciding. Review it before you continue.',
  rightsChanged: 'This access changed while you were editing. Nothing was saved.',
  levelRefused: (level: string) =>
    `The request was not accepted. Someone who approved ${quote(level)} has to pause that access before another access level can be agreed.`,
  notSubscribed: 'Couldn’t subscribe. They declined or can’t be reached; try again later.',
  approvalEnded: 'The approval ended while you were deciding. You can approve again.',
  timeInvalid: 'Enter a date and a time, such as 2030-01-31T18:00.',
  timePast: 'Choose a time in the future.',
  nicknameTooLong: (most: number) => `Use at most ${number(most)} characters.`,
}

const ends = {
  approval: 'When your approval ends',
  approvalText: (end: Html | null, name: string) =>
    end === null
      ? html`It has no end. You can set one, after which ${name} loses access until you approve again.`
      : html`It ends on ${end}. Then ${name} loses access until you approve again.`,
  grants: (name: string) => `Granted to ${name} only`,
  grant: (subject: string, verbs: string, pattern: string, until: Html | null) =>
    html`${subject}: can ${verbs} <strong>${pattern}</strong>${until === null ? '' : html` until ${until}`}`,
  withdraw: (verbs: string, pattern: string) => html`Remove<span class="unseen">: ${verbs} ${pattern}</span>`,
  end: 'End, in UTC',
  endHint: 'Leave it empty for no end.',
  save: 'Save the end',
}

const check = {
  title: 'Check access',
  action: 'Action',
  name: 'Name',
  button: 'Check',
  allowed: 'Allowed.',
  blocked: 'Blocked.',
  can: (who: string, verb: string, name: string) => `${who} can ${verb} ${quote(name)}.`,
  cannot: (who: string, verb: string, name: string) => `${who} can’t ${verb} ${quote(name)}.`,
}

/** The choices of the form that checks access: `view a property`. */
const checkOptions = {
  properties: (verb: string) => `${verb} a property`,
  lists: (verb: string) => `${verb} a list`,
  files: (verb: string) => `${verb} a file`,
  methods: (verb: string) => `${verb} a method`,
  actions: (verb: string) => `${verb} an action`,
  tools: (verb: string) => `${verb} a tool`,
  resources: (verb: string) => `${verb} a resource`,
  prompts: (verb: string) => `${verb} a prompt`,
}

/** Why a person or app can or can’t do something. */
const because = ({ one }: EnglishNoun) => ({
  onlyForApps: `Only AI apps can use this, and this is another ${one}.`,
  visibleParts: 'They get the parts that they can view.',
  notApproved: 'You haven’t approved this connection.',
  notGranted: (level: string) => `It’s not granted by ${level} or by you.`,
  grantedAlone: (objects: Covered) => `You granted ${objectsOf(objects)} to them only.`,
  youAllow: (objects: Covered) => `You allow ${objectsOf(objects)}.`,
  levelAllows: (level: string, objects: Covered) => `${level} allows ${objectsOf(objects)}.`,
  youOmit: (verb: string) => `Your rules don’t let them ${verb} anything of this kind.`,
  levelOmits: (level: string, verb: string) => `${level} doesn’t let them ${verb} anything of this kind.`,
  youBlock: (objects: Covered) => `You block ${exceptionsOf(objects)}.`,
  levelBlocks: (level: string, objects: Covered) => `${level} blocks ${exceptionsOf(objects)}.`,
  decidedAs: (verb: string, name: string) => `The rule for ${quote(`${verb} ${name}`)} decides.`,
  needsApproval: 'You approve each call.',
})

/** The name that the owner asks about does not exist. */
const missing = {
  properties: (name: string) => `There’s no property called ${quote(name)} right now.`,
  files: (name: string) => `There’s no file called ${quote(name)} right now.`,
  methods: (name: string) => `There’s no method called ${quote(name)} right now.`,
  actions: (name: string) => `There’s no action called ${quote(name)} right now.`,
  tools: (name: string) => `There’s no tool called ${quote(name)} right now.`,
  resources: (name: string) => `There’s no resource called ${quote(name)} right now.`,
  prompts: (name: string) => `There’s no prompt called ${quote(name)} right now.`,
}

/** How to change what a person or app can do. */
const toChange = ({ one }: EnglishNoun) => ({
  offer: 'The app would have to offer it.',
  onlyForApps: `No setting allows it for another ${one}.`,
  put: (name: string, field: string) => `Under “Advanced”, add ${quote(name)} to ${quote(field)}.`,
  putAndTick: (name: string, field: string, verb: string) =>
    `Under “Advanced”, add ${quote(name)} to ${quote(field)} and tick ${quote(verb)}.`,
  tick: (verb: string) => `Under “Advanced”, tick ${quote(verb)}.`,
  remove: (field: string) => `Under “Advanced”, remove it from ${quote(field)}.`,
  pause: 'Pause access.',
  approve: 'Approve the connection.',
  otherLevel: (level: string) => `${level} always blocks this. Choose another access level.`,
  otherLevelOrApp: (level: string, name: string) =>
    `${level} always blocks this. Choose another access level, or an app that allows ${quote(name)} for every action.`,
})

const accessTable = {
  title: (name: string) => `What ${name} can access`,
  data: 'Your data',
  calls: 'Actions and tools',
  view: 'View',
  edit: 'Edit',
  remove: 'Delete',
  subscribe: 'Subscribe',
  use: 'Use',
  setBy: 'Set by',
  choice: 'Access',
  you: 'You',
  noRule: 'No rule',
  yes: 'Allowed',
  add: 'Add only',
  ask: 'Asks you',
  no: 'Not allowed',
  default: 'Default',
  allow: 'Allow',
  allowAll: 'Allow all',
  block: 'Block',
  byPattern: 'Only by pattern',
  choose: (name: string) => `Access to ${quote(name)}`,
  choicesText: (level: string) =>
    `Default follows ${level} and your patterns. Allow and Block apply to this name alone. What ${level} blocks stays blocked.`,
  change: 'Edit access',
  save: 'Save access',
  more: (names: number) => `${number(names)} more not shown. Use “Check access” for them.`,
}

const editAccess = {
  title: 'Advanced',
  text: (level: string) =>
    html`One pattern per line. Use <code>*</code> as a wildcard, like <code>notes/*</code>. Anything ${level} blocks stays blocked.`,
  byLevel: (level: string, sentences: readonly string[]) => `Default for ${level}: ${sentences.join(' ')}`,
  matches: (matched: number, all: number) => `Matches ${number(matched)} of ${number(all)} now.`,
  patterns: 'Allow',
  excluded_patterns: 'Except',
  allowed: 'Full access to',
  denied: 'Block',
  permissions: 'Permissions',
  only: (level: string) => `Ignore the defaults of ${level}; use only these rules`,
  preview: 'Preview changes',
  reset: (level: string) => `Reset to ${level} defaults…`,
  resetText: (name: string) => `Removes your custom access rules for ${name}.`,
  resetButton: 'Reset',
  review: 'Review changes',
  storedNow: 'Stored now:',
  stored: (subject: string, sentences: readonly string[]) => `${subject}: ${sentences.join(' ')}`,
  noEffect: 'No effect on your current data.',
  effect: 'Affects your current data:',
  gained: 'Will be able to',
  lost: 'Will lose',
  notSaved: 'Not saved yet. The form above has what you typed, to change it further.',
  save: 'Save changes',
  cancel: 'Cancel',
}

const endings = {
  label: 'End the connection',
  pause: 'Pause access…',
  pauseText: (name: string) => `${name} loses access right away. You can resume later.`,
  pauseButton: 'Pause access',
  disconnect: 'Disconnect…',
  disconnectText: (name: string) =>
    `${name} loses access, both subscriptions end, and your copy of their data is deleted. They’re notified.`,
  disconnectAppText: (name: string) => `${name} loses access right away and must ask again to reconnect.`,
  disconnectButton: (name: string) => `Disconnect ${name}`,
}

const viewAs = {
  title: (name: string) => `Viewing as ${name}`,
  text: (name: string) => `This is everything ${name} can see right now, and what they can call.`,
  notApproved: (name: string) => `${name} can’t see anything: not approved.`,
  properties: (total: number) => (total === 0 ? 'No properties' : count(total, 'property', 'properties')),
  none: 'None',
  parts: 'Partly visible',
  methods: 'Methods',
  actions: 'Actions',
  tools: 'Tools',
  noMethods: 'No methods',
  noActions: 'No actions',
  noTools: 'No tools',
  asksFirst: 'Asks you first',
  kindAnd: (kind: string, verbs: readonly string[]) => `${kind} · can ${and(verbs)}`,
}

const subscriptions = {
  title: 'Subscriptions',
  text: 'Who gets updates from you, and whose updates you get.',
  subscribers: 'Subscribers',
  noSubscribers: 'No subscribers yet.',
  own: 'Your subscriptions',
  noneOwn: 'You haven’t subscribed to anyone.',
  name: (peer: string, about: string) => `${peer} · ${about}`,
  facts: (host: string, how: string, updates: number, since: Html) =>
    html`${host === '' ? '' : `${host} · `}${how} · ${updates === 0 ? 'No updates yet' : count(updates, 'update', 'updates')} · since ${since}`,
  allProperties: 'All properties',
  everythingIn: (target: string) => `Everything in ${target}`,
  full: 'Full updates',
  notifications: 'Notifications only',
  onRequest: 'On request',
  upToDate: 'Up to date',
  stopped: (failures: number) => `Stopped after ${count(failures, 'failure', 'failures')}`,
  failed: (failures: number) => `${number(failures)} failed`,
  toFetch: (updates: number) => `${number(updates)} to fetch`,
  unreachable: (waiting: number) => `Unreachable, ${number(waiting)} queued`,
  retrying: (waiting: number) => `Retrying ${number(waiting)}`,
  sending: (waiting: number) => `Sending ${number(waiting)}`,
  endedByThem: 'Ended by them',
  syncing: 'Syncing…',
  recovering: 'Missing an update, recovering',
  missing: 'This subscription doesn’t exist. It may have ended.',
}

/** The outcomes of the latest updates of a subscription. */
export interface DeliverySummary {
  readonly delivered: number
  readonly waiting: number
  readonly failed: number
  /** Milliseconds; null when nothing was delivered. */
  readonly median: number | null
}

const subscription = {
  label: 'Subscription',
  subscriber: 'Subscriber',
  source: 'Source',
  at: (name: Text, host: string) => (host === '' ? html`${name}` : html`${name} at ${host}`),
  delivery: 'Delivery',
  status: 'Status',
  updates: 'Updates sent',
  updatesReceived: 'Updates received',
  started: 'Started',
  data: (name: string) => `Data from ${name}`,
  sharesNothing: (name: string) => `${name} isn’t sharing anything.`,
  noData: 'No data yet.',
  failures: (failures: number) =>
    plural(failures, {
      one: `${number(failures)} update wasn’t delivered`,
      other: `${number(failures)} updates weren’t delivered`,
    }),
  failuresText: (name: string, failures: number) =>
    plural(failures, {
      one: `${name} rejected it or was offline too long. We kept it.`,
      other: `${name} rejected them or was offline too long. We kept them.`,
    }),
  heldBack: 'Updates are held back',
  heldBackText: (name: string) => `We can’t reach ${name} at the moment. Nothing is lost.`,
  nextAttempt: (at: Html) => html`The next attempt is ${at}.`,
  retry: 'Retry now',
  log: 'Delivery log',
  filter: 'Outcomes',
  all: 'All',
  outcomes: { delivered: 'Delivered', waiting: 'Waiting', failed: 'Not delivered' },
  latest: (updates: number) => `Last ${count(updates, 'update', 'updates')}`,
  summary: ({ delivered, waiting, failed, median }: DeliverySummary) =>
    [
      `${number(delivered)} delivered, ${number(waiting)} waiting, ${number(failed)} not delivered.`,
      ...(median === null ? [] : [`Half took at most ${number(median)} ms.`]),
    ].join(' '),
  everything: 'Everything',
  changed: (names: readonly string[], more: number) =>
    and(more === 0 ? names : [...names, count(more, 'other', 'others')]),
  numbered: (sequence: number, at: Html) => html`#${sequence} · ${at}`,
  empty: 'No updates in the stored log.',
  attempts: (outcome: string, attempts: number) => `${outcome} · ${count(attempts, 'attempt', 'attempts')}`,
  reason: (outcome: string, reason: string) => `${outcome}: ${reason}`,
  waiting: 'Queued',
  retrying: 'Retrying',
  delivered: 'Delivered',
  deliveredIn: (ms: number) => `Delivered in ${number(ms)} ms`,
  rejected: 'Not delivered',
  superseded: 'Delivered as part of a later update',
  unsent: 'Ready to fetch',
  fetched: 'Fetched',
  end: 'Unsubscribe…',
  endText: (name: string) =>
    `You’ll stop getting updates from ${name}, and your copy of their data is deleted. They’re notified.`,
  endButton: 'Unsubscribe',
  endTheirs: 'End subscription…',
  endTheirsText: (name: string) => `${name} stops getting updates. They’re notified.`,
  endTheirsButton: 'End subscription',
}

const restored = {
  ofCopy: (since: Html, copied: Html) =>
    html`The data of this service comes from a copy (${copied}) that was restored (${since}). Changes between these times are missing.`,
  ofUnknown: (since: Html) =>
    html`The data of this service was restored (${since}). Changes shortly before may be missing.`,
}

const quotas = {
  title: 'Storage',
  text: 'Nothing more can be stored when a limit is reached. Deleting makes room.',
  names: {
    bytes: 'Data',
    names: 'Properties',
    items: 'List items',
    file_bytes: 'Content of files',
    files: 'Files',
    relationships: 'Connections',
    subscriptions: 'Subscriptions',
    webhooks: 'Webhooks',
    keys: 'Access keys',
    members: 'Members',
  },
  amount: (value: number) => number(value),
  size: (bytes: number) => size(bytes),
  used: (used: string, limit: string) => `${used} of ${limit}`,
}

const operatorPages = {
  windowTitle: (title: string) => `${title} · Operators`,
  amount: (value: number) => number(value),
  size: (bytes: number) => size(bytes),
  never: 'Never',
  status: 'Status',
  statusText:
    'The numbers are those of the process that answered, since its start. Waiting updates are those of all processes.',
  requests: 'Requests',
  failures: (failures: number) => (failures === 0 ? 'None failed' : `${number(failures)} failed (5xx)`),
  duration: 'Half answered within',
  within: (ms: number | null) => (ms === null ? '–' : `${number(ms)} ms`),
  almostAll: (ms: number | null) =>
    ms === null ? '99% took longer than 10 s, or nothing was requested' : `99% within ${number(ms)} ms`,
  waiting: 'Waiting updates',
  waitingText: 'Subscriptions with updates to send',
  inProgress: 'In progress',
  inProgressText: 'Requests at this moment',
  attention: 'Needs attention',
  noFindings: 'Nothing needs your attention.',
  findings: {
    plainHttp: 'BASE_URL is http, so browsers keep no cookies and people cannot sign in on pages.',
    everyAddress: 'HOST lets every network of this machine reach the port without the proxy.',
    noBackups: 'No backups are scheduled. Set TROUPE_BACKUPS to a folder on another disk.',
    closedMetrics: 'Monitoring cannot read the metrics. Set TROUPE_METRICS_TOKEN.',
    otherAddress: (known: string) =>
      `Others know this service as ${known}, so large changes do not reach them. Run troupe readdress.`,
    lateBackup: (hours: number) =>
      `No complete backup is recent enough, and one is due every ${count(hours, 'hour', 'hours')}. Search the log for troupe:backups.`,
    fullDisk: (bytes: number) => `The disk of the database has only ${size(bytes)} left.`,
    silentProcess: (hosts: readonly string[]) =>
      `A process gives no sign of life: ${and(hosts)}. It was killed, or it cannot reach the database.`,
    severalReleases: (releases: readonly string[]) => `Processes run several releases: ${and(releases)}.`,
    waitingMail: (since: string) => `The oldest waiting message to a person was stored ${since}. Run troupe mail test.`,
  },
  processes: 'Processes',
  noProcesses: 'No process has stored a sign of life yet.',
  processesText:
    'A program that embeds the service with app.fetch or toNodeHandler stores no sign of life, so it is not listed.',
  failing: 'Failing updates',
  allFailing: 'All failures',
  slow: 'Slow peers',
  noSlow: 'No peer takes more than a second to answer this process.',
  slowColumns: { host: 'Peer', duration: 'Mean of the last answers', calls: 'Calls' },
  processColumns: { host: 'Machine', version: 'Version', started: 'Started', seen: 'Last sign of life' },
  silent: 'silent',
  waitingWork: 'Waiting work',
  noWaitingWork: 'No background work waits.',
  workColumns: { kind: 'Kind', due: 'Waiting', failed: 'Failed' },
  databaseSize: 'Size of the database',
  freeSpace: 'Free space on its disk',
  backup: 'Last backup',
  noBackup: 'None is complete yet',
  backupsOff: 'Not scheduled',
  service: 'Service',
  version: 'Version',
  node: 'Node.js',
  database: 'Database',
  stores: { sqlite: 'SQLite', postgres: 'PostgreSQL' },
  sharded: 'distributed over servers',
  started: 'Started',
  memory: 'Memory',
  keys: 'Encryption keys',
  currentKey: (key: Html) => html`New secrets are encrypted with ${key}.`,
  olderKeys: (keys: readonly string[]) =>
    `Older keys that still decrypt: ${and(keys)}. “troupe keys rotate” encrypts everything with the new key.`,
  noOlderKeys: 'No older keys are configured.',
  refusals: 'Refused by rate limits',
  noRefusals: 'No request was refused.',
  attempts: 'Delivery attempts',
  noAttempts: 'Nothing was delivered yet.',
  search: 'Beginning of the owner’s address, or an ID',
  find: 'Search',
  showAll: 'Show all',
  noneFound: (search: string) => `Nothing begins with ${quote(search)}.`,
  cut: (shown: number) => `Showing the first ${number(shown)}. Enter more of the address to see others.`,
  order: 'Order',
  orders: { newest: 'Newest', size: 'Largest', activity: 'Busiest' },
  orderTexts: {
    size: 'The 50 that store most, without files.',
    activity:
      'The 50 with most of the last 5,000 recorded requests and 5,000 changes of all. Reads by owners are not recorded.',
  },
  counted: (time: Html) => html`Counted ${time}.`,
  counting: 'The service counts again now: load the page again in a moment.',
  records: (records: number) => count(records, 'record', 'records'),
  newest: 'Newest',
  older: 'Older',
  first: 'Beginning',
  actorColumns: {
    actor: 'Owner',
    created: 'Created',
    lastUsed: 'Last used',
    data: 'Data',
    files: 'Files',
    connections: 'Connections',
  },
  data: ({ values, items, bytes, isPartial }: ListedAmounts) => {
    const all = `${count(values, 'property', 'properties')}, ${count(items, 'list item', 'list items')}, ${size(bytes)}`
    return isPartial ? `At least ${all}` : all
  },
  proven: 'The owner proved this address when signing in.',
  unproven: 'This address was never proved.',
  seen: 'The owner sees in their activity that you opened this page.',
  facts: 'Facts',
  id: 'ID',
  basicUsed: 'Passphrase last used by a program',
  properties: 'Properties',
  lists: 'Lists',
  subscriptions: 'Subscriptions',
  sessions: 'Sessions',
  sized: (values: number, bytes: number) => `${number(values)}, ${size(bytes)}`,
  listed: (lists: number, items: number, bytes: number) =>
    `${number(lists)} with ${count(items, 'item', 'items')}, ${size(bytes)}`,
  subscribed: (byOthers: number, toOthers: number) => `${number(byOthers)} by others, ${number(toOthers)} to others`,
  redrive: 'Retry what failed',
  redriveText: 'Updates, notices, events, webhooks and alarms that failed are tried again now.',
  redriveButton: 'Retry now',
  deliveries: 'Deliveries',
  deliveriesText:
    'Failures only. Retries are automatic until a delivery stops; then it waits until an operator retries it.',
  updates: 'Updates to subscribers',
  noFailing: 'Every subscriber gets its updates.',
  work: 'Background work',
  noStopped: 'No background work has stopped.',
  moreFailing: 'There are more failures than this page shows.',
  stopped: 'Stopped',
  retrying: 'Retrying',
  kinds: { event: 'Events', webhook: 'Webhooks', alarm: 'Alarms', import: 'Imports', mail: 'Mail' },
  programs: 'Connected apps',
  noPrograms: 'No apps connected.',
  programColumns: { program: 'App', connections: 'Connections', lastUsed: 'Last used' },
  suspended: 'Suspended',
  suspendedText: 'Every request is refused, and only ends of relationships are sent. The data stays.',
  suspend: 'Suspend',
  suspendText:
    'The owner is signed out and cannot sign in. Every app, key and visitor gets 403, and updates to others wait. The data stays, and you can resume it at any time.',
  resume: 'Resume',
  resumeText: 'The owner can sign in again, apps and keys work again, and waiting updates are sent.',
  signOutEverywhere: 'Sign out on all devices',
  signOutEverywhereText: 'The owner signs in again on each device. Connected apps and API keys keep working.',
  signInLink: 'Make a sign-in link',
  signInLinkText:
    'For an owner who has lost every way to sign in. The link works once, within an hour, and ends the earlier one. A person who has it can do everything that the owner can. The owner sees in the activity that you made it, and gets a message.',
  signInLinkMade: 'Sign-in link',
  signInLinkPass: 'Pass it on to the owner alone, in a way that proves who they are. It isn’t shown again.',
  resetLimits: 'Reset limits',
  resetLimitsText:
    'Ends what failed sign-ins and too many requests have counted about this account. Other processes notice it within 30 seconds.',
  sender: 'IP address of the owner (optional)',
  senderText: 'The limits of this address end too, such as 192.0.2.7.',
  senderInvalid: 'Enter an IP address, or leave it empty.',
  deleteAccount: 'Delete the account',
  deleteAccountText:
    'All its data, relationships, apps and keys are deleted. Peers are notified. Nothing can bring them back, except a backup.',
  confirmation: (id: string) => html`Type <code class="inline">${id}</code> to confirm`,
  confirmationWrong: 'That is not the ID of this account.',
  ownerLinkTitle: 'Sign in with a link of the operator',
  ownerLinkText: (name: string) => html`This link signs you in to the account <strong>${name}</strong>, once.`,
  ownerLinkNext: 'Add a passkey or another way to sign in afterwards. Ignore the link if you did not ask for it.',
  ownerLinkButton: 'Sign in',
  ownerLinkEnded:
    'This link has ended: it was used, a newer one replaced it, or it is older than an hour. Ask the operator of this service for another one.',
  team: 'Operators',
  teamText:
    'People who may open these pages. Each is named by a sign-in: a verified address, an id at a provider, or a passkey.',
  configuredTeam: 'Set by TROUPE_ADMINS',
  addedBy: (by: string) =>
    by === 'link' ? 'by the link of the start' : by === 'command' ? 'by the command line' : `by ${by}`,
  addOperator: 'Add an operator',
  operatorName: 'Verified address, provider ID, or fingerprint of a passkey',
  operatorNameText: 'Such as ada@example.com, google:1234 or passkey:u3V…, which the page of passkeys shows.',
  removeOperator: 'Remove',
  removeOperatorText: (name: string) => `${name} can no longer open these pages.`,
  lastOperator: 'The last operator cannot be removed. Add another one first.',
  begin: 'Become the operator',
  beginText:
    'This service has no operator yet. The person who continues here will see how the service runs, and can add other operators. Stored values stay hidden.',
  beginSignIn: 'Next, sign in or create an account. The link works once, within 24 hours of the start that printed it.',
  beginContinue: 'Continue to the sign-in',
  beginAs: (name: string) => `You are signed in as ${name}. This sign-in will open the pages of operators.`,
  beginOther: 'If another person should operate this service, let that person sign in first.',
  beginButton: 'Become the operator',
  beginOtherLink: 'Sign in again',
  beginUnproven:
    'This sign-in does not prove who you are, because programs may know the passphrase. Sign in in another way.',
  linkEnded:
    'This link has ended: it was used, a later start of the service replaced it, or it is older than 24 hours. If the service has no operator, restart it and open the link that the start prints.',
}

const operator = ({ one, many, a }: EnglishNoun) => ({
  ...operatorPages,
  ownPages: `Your ${one}`,
  actors: capital(many),
  actorsText: `Stored values are never shown here. When you open ${a}, its activity records that.`,
  noActors: `There are no ${many} yet.`,
  deliveryColumns: {
    actor: capital(one),
    peer: 'To',
    state: 'State',
    since: 'Failing since',
    attempts: 'Attempts',
    reason: 'Reason',
    kind: 'Kind',
  },
  programsText: `Programs that act for ${many}. Each connection belongs to one ${one}.`,
})

const connectClient = {
  title: 'Connect an AI client',
  text: 'The client opens this service in a browser. There you sign in and decide what it may do.',
  web: 'Claude and ChatGPT in a browser',
  webText: 'Open the settings, then the connectors, and add a custom connector with the MCP server URL above.',
  claudeCode: 'Run this command. Then enter /mcp in a session, choose this service, and Authenticate.',
  cursor: 'Put this into .cursor/mcp.json, and choose Connect in the settings.',
  inspector: 'Run this command. Choose Streamable HTTP, enter the MCP server URL, and Connect.',
}

const newKey = {
  created: 'API key created',
  createdText: (name: string) =>
    html`Copy the key of <strong>${name}</strong> now. It isn’t shown again, because the service stores only its hash.`,
  key: 'Key',
  title: 'Create an API key',
  text: 'For a script or a device that can’t sign in. The key may do only what you choose here, until you revoke it.',
  name: 'Name',
  nameHint: 'What uses the key, such as “Sensor in the kitchen”.',
  properties: 'Properties',
  files: 'Files',
  reaches: { none: 'No access', view: 'View', edit: 'View and edit' },
  names: 'Only these properties',
  namesHint: 'One name per line; * stands for any characters. Leave it empty for all properties.',
  runs: 'Run all methods, actions and tools of the application',
  until: 'Last day',
  untilHint: 'The key ends when this day ends (UTC). Leave it empty for a key without an end.',
  create: 'Create key',
  nameMissing: 'Enter a name for the key.',
  rightsMissing: 'Choose at least one thing that the key may do.',
  dayInvalid: 'Enter today or a later day.',
  tooMany: 'You have too many keys. Revoke one first.',
  namesInvalid: (most: number, longest: number) =>
    `Enter at most ${number(most)} names of at most ${number(longest)} characters.`,
}

const apps = ({ one }: EnglishNoun) => ({
  title: 'Connected apps',
  text: `Apps with access to your ${one}, and the devices where you’re signed in. Disconnecting takes effect immediately.`,
  apps: 'Apps',
  passwordAccess: 'Programs with a password',
  mcpUrl: 'MCP server URL',
  empty: 'No apps connected.',
  emptyWithUrl: 'No apps connected. Add the URL above to Claude, ChatGPT or another MCP client.',
  unknownOrigin: 'Unknown origin',
  isLocal: 'Runs on this computer',
  returnsTo: (host: string) => html`Returns to <strong>${host}</strong>`,
  origin: (origin: Text, connections: number) =>
    connections > 1 ? html`${origin} · ${count(connections, 'connection', 'connections')}` : html`${origin}`,
  level: (level: string, until: Html | null) =>
    until === null
      ? html`Access level: <strong>${level}</strong>`
      : html`Access level: <strong>${level}</strong> until ${until}`,
  paused: 'Paused. It has no access.',
  ends: (end: Html) => html`Its access ends on ${end}.`,
  ended: (end: Html) => html`Its access ended on ${end}.`,
  facts: (connected: Html, lastUsed: Html, hasAccess: boolean) =>
    html`Connected ${connected} · last used ${lastUsed}${hasAccess ? '' : ' · Signed out'}`,
  calls: (calls: number) => `${count(calls, 'call', 'calls')} in 7 days`,
  pause: (name: string) => html`Pause<span class="unseen">: ${name}</span>`,
  resume: (name: string) => html`Resume<span class="unseen">: ${name}</span>`,
  cannotPause: 'That access can’t be paused or resumed any longer. Check its state below.',
  disconnect: (name: string) => `Disconnect ${name}`,
  manage: (name: string) => html`Manage access<span class="unseen">: ${name}</span>`,
  notConnected: 'That app is already disconnected.',
  keys: 'API keys',
  noKeys: 'No API keys.',
  keyFacts: (made: Html, lastUsed: Html | null, end: Html | null) =>
    html`Created ${made} · ${lastUsed === null ? 'never used' : html`last used ${lastUsed}`}${end === null ? '' : html` · ends on ${end}`}`,
  revoke: (name: string) => `Revoke ${name}`,
  keyGone: 'That key is already revoked.',
})

const devices = {
  title: 'Devices',
  isNew: 'New',
  thisDevice: 'This device',
  signOut: (device: string, how: string) => html`Sign out<span class="unseen"> ${device}, ${how}</span>`,
  facts: (how: string, began: Html, lastUsed: Html) => html`${how} · signed in ${began} · last used ${lastUsed}`,
  unknown: 'Unknown device',
  web: 'Browser',
  spa: 'Browser application',
  mobile: 'Mobile app',
  native: 'Native app',
  passphrase: 'Passphrase',
  email: 'Email',
  import: 'Imported',
  host: 'Application',
  operator: 'Link of an operator',
  signOutOthers: 'Sign out other devices…',
  signOutOthersText: (others: number) =>
    `Signs out ${count(others, 'other device', 'other devices')}. You stay signed in here.`,
  signOutOthersButton: 'Sign out other devices',
  alreadySignedOut: 'That device is already signed out.',
}

const reference = {
  title: 'API reference',
  text: (href: string) =>
    html`Every request that programs can send, with its parameters and responses. The same in the OpenAPI format: <a href="${href}">openapi.json</a>.`,
  parts: 'Parts of the API',
  needsCredential: 'Needs a credential.',
  open: 'Needs no credential.',
  parameters: 'Parameters',
  places: { path: 'in the path', query: 'in the query', header: 'in a header' },
  required: 'required',
  body: (type: string) => `Body (${type})`,
  responses: 'Responses',
}

const activity = {
  title: 'Activity',
  text: 'What people and apps did with your data, and how you decided or changed who may use it. Values are never recorded.',
  off: 'Activity is turned off for this service.',
  empty: 'No activity yet.',
  noOlder: 'No older activity.',
  newest: 'Newest',
  older: 'Older',
  filter: 'Person or app',
  everyone: 'Everyone',
  you: 'You',
  details: 'Details',
  filterTitle: 'Filter',
  outcome: 'Outcome',
  anyOutcome: 'Any outcome',
  outcomes: { allowed: 'Allowed', asked: 'Needed your approval', denied: 'Denied' },
  about: 'About',
  everything: 'Everything',
  kinds: {
    properties: 'Properties',
    files: 'Files',
    operations: 'Actions and tools',
    connections: 'Connections',
    updates: 'Updates',
    other: 'Other',
  },
  property: 'Property',
  from: 'From',
  to: 'To',
  showAll: 'Show all',
  noMatch: 'Nothing matches.',
  exportAs: (format: string) => `Export as ${format}`,
  apply: 'Apply',
  filterBy: (name: string) => html`Filter<span class="unseen">: ${name}</span>`,
  did: (who: Html, what: string) => html`${who} ${what}`,
  denied: (who: Html, what: string) => html`${who} was <strong class="no">denied</strong>: ${what}`,
  times: (times: number) => count(times, 'time', 'times'),
  trustee: 'Trustee',
  operator: (name: string) => `Operator ${name}`,
  unknown: 'Unknown visitor',
  unknownAt: (address: string) => `Unknown visitor (${address})`,
  requestedApproval: (what: string) => `requested your approval to ${what}`,
  gotApproval: (what: string) => `got your approval to ${what}`,
  gotNoApproval: (what: string) => `didn’t get your approval to ${what}`,
}

/** Acts of the owner, which follow “You”. */
const ownActs = {
  other: (request: string) => `sent ${request}`,
  signIn: 'signed in',
  signOut: 'signed out',
  signOutOthers: 'signed out all other devices',
  connect: (name: string) => `connected ${name}`,
  disconnect: (name: string) => `disconnected ${name}`,
  exportData: 'exported your data',
  importData: 'imported an archive',
  beginMove: 'started a move to another service',
  stopMove: 'stopped the move to another service',
  createKey: 'created an API key',
  changeKey: 'changed an API key',
  revokeKey: 'revoked an API key',
  invite: 'created an invitation',
  revokeInvitation: 'revoked an invitation',
  requestConnection: 'requested a connection',
  changeConnection: (name: string) => `changed the connection with ${name}`,
  changeAccess: (name: string) => `changed the access of ${name}`,
  resetAccess: (name: string) => `reset the access of ${name}`,
  changeTrustee: 'changed the trustee',
  decideProgram: 'decided about a program with a password',
  addPasskey: 'added a passkey',
  removePasskey: 'removed a passkey',
  createCodes: 'created recovery codes',
  useCode: 'used a recovery code',
  addWebhook: 'added a webhook',
  removeWebhook: 'removed a webhook',
  newWebhookSecret: 'changed the secret of a webhook',
  inviteMember: 'invited a member',
  changeRole: 'changed the role of a member',
  removeMember: 'removed a member',
}

/** Allowed requests, in the past tense. */
const didActs = {
  callTool: (name: string) => `used the tool ${quote(name)}`,
  usePrompt: (name: string) => `used the prompt ${quote(name)}`,
  viewResource: (name: string) => `viewed ${quote(name)}`,
  mcpRequest: (name: string) => `sent ${name}`,
  openAddress: (name: string) => `opened ${quote(name)}`,
  openAccount: 'opened your address',
  viewFacts: 'viewed how much you store, without the values',
  redrive: 'retried what had failed',
  changeOperators: 'changed who operates this service',
  suspend: 'suspended this account',
  resume: 'resumed this account',
  signOutEverywhere: 'signed you out on all devices',
  makeSignInLink: 'made a link that signs in to your account once',
  resetLimits: 'reset the limits of your account',
  deleteAccount: 'deleted an account',
  listActions: 'listed the actions',
  runAction: (name: string) => `ran the action ${quote(name)}`,
  listFiles: 'listed the files',
  viewFile: (name: string) => `viewed the file ${quote(name)}`,
  editFile: (name: string) => `edited the file ${quote(name)}`,
  deleteFile: (name: string) => `deleted the file ${quote(name)}`,
  viewProfile: 'viewed your public profile',
  listMethods: 'listed the methods',
  callMethod: (name: string) => `called the method ${quote(name)}`,
  callAnyMethod: 'called a method',
  viewAccess: 'viewed their access',
  listProperties: 'listed the properties',
  editProperties: 'edited properties',
  deleteProperties: 'deleted all properties',
  receiveProperties: 'received changes of properties',
  receiveProperty: (name: string) => `received a change of the property ${quote(name)}`,
  viewProperty: (name: string) => `viewed the property ${quote(name)}`,
  editProperty: (name: string) => `edited the property ${quote(name)}`,
  deleteProperty: (name: string) => `deleted the property ${quote(name)}`,
  viewOperation: (name: string) => `viewed the resource ${quote(name)}`,
  editOperation: (name: string) => `edited the resource ${quote(name)}`,
  deleteOperation: (name: string) => `deleted the resource ${quote(name)}`,
  subscribe: 'subscribed',
  unsubscribe: 'unsubscribed',
  confirmUpdates: 'confirmed updates',
  requestUpdates: 'requested updates again',
  fetchUpdates: 'fetched updates',
  viewSubscriptions: 'viewed their subscriptions',
  endYours: 'ended your subscription',
  sendUpdate: 'sent an update',
  sendAccess: 'sent what you can access',
  callCallback: (name: string) => `called callback ${quote(name)}`,
  accept: 'accepted the connection',
  connect: 'connected',
  requestConnection: 'requested to connect',
  endConnection: 'ended the connection',
  editConnection: 'changed the connection',
  viewConnection: 'viewed the connection',
}

/** Requests that were denied or needed approval, in the infinitive. */
const toActs = {
  callTool: (name: string) => `use the tool ${quote(name)}`,
  usePrompt: (name: string) => `use the prompt ${quote(name)}`,
  viewResource: (name: string) => `view ${quote(name)}`,
  mcpRequest: (name: string) => `send ${name}`,
  openAddress: (name: string) => `open ${quote(name)}`,
  openAccount: 'open your address',
  viewFacts: 'view how much you store',
  redrive: 'retry what had failed',
  changeOperators: 'change who operates this service',
  suspend: 'suspend this account',
  resume: 'resume this account',
  signOutEverywhere: 'sign you out on all devices',
  makeSignInLink: 'make a link that signs in to your account once',
  resetLimits: 'reset the limits of your account',
  deleteAccount: 'delete an account',
  listActions: 'list the actions',
  runAction: (name: string) => `run the action ${quote(name)}`,
  listFiles: 'list the files',
  viewFile: (name: string) => `view the file ${quote(name)}`,
  editFile: (name: string) => `edit the file ${quote(name)}`,
  deleteFile: (name: string) => `delete the file ${quote(name)}`,
  viewProfile: 'view your public profile',
  listMethods: 'list the methods',
  callMethod: (name: string) => `call the method ${quote(name)}`,
  callAnyMethod: 'call a method',
  viewAccess: 'view their access',
  listProperties: 'list the properties',
  editProperties: 'edit properties',
  deleteProperties: 'delete all properties',
  receiveProperties: 'receive changes of properties',
  receiveProperty: (name: string) => `receive a change of the property ${quote(name)}`,
  viewProperty: (name: string) => `view the property ${quote(name)}`,
  editProperty: (name: string) => `edit the property ${quote(name)}`,
  deleteProperty: (name: string) => `delete the property ${quote(name)}`,
  viewOperation: (name: string) => `view the resource ${quote(name)}`,
  editOperation: (name: string) => `edit the resource ${quote(name)}`,
  deleteOperation: (name: string) => `delete the resource ${quote(name)}`,
  subscribe: 'subscribe',
  unsubscribe: 'unsubscribe',
  confirmUpdates: 'confirm updates',
  requestUpdates: 'request updates again',
  fetchUpdates: 'fetch updates',
  viewSubscriptions: 'view their subscriptions',
  endYours: 'end your subscription',
  sendUpdate: 'send an update',
  sendAccess: 'send what you can access',
  callCallback: (name: string) => `call callback ${quote(name)}`,
  accept: 'accept the connection',
  connect: 'connect',
  requestConnection: 'request to connect',
  endConnection: 'end the connection',
  editConnection: 'change the connection',
  viewConnection: 'view the connection',
}

/** Why a recorded request was allowed or denied. */
const activityReasons = {
  ownPath: 'own data',
  public: 'public',
  operates: 'operates this service',
  owns: 'as the owner',
  subscription: 'subscribed',
  askedToSignIn: 'asked to sign in',
  needsApproval: 'needs your approval',
  approvedByYou: 'approved by you',
  deniedByYou: 'denied by you',
  notApproved: 'the connection isn’t approved',
  allowedBy: (level: string, pattern: string) => `allowed by ${level}: ${pattern}`,
}

/** The messages without the noun for an actor. */
const plain = {
  frame,
  navigation,
  errors,
  live,
  forms,
  time,
  accessMap,
  signInErrors,
  signInRefusals,
  testUsers,
  requests,
  approvals,
  calls,
  values,
  types,
  properties,
  list,
  history,
  conflict,
  subjects,
  verbs,
  noAccess,
  reached,
  standing,
  listing,
  peerErrors,
  ends,
  check,
  accessTable,
  checkOptions,
  missing,
  editAccess,
  endings,
  viewAs,
  subscriptions,
  subscription,
  devices,
  reference,
  activity,
  didActs,
  ownActs,
  emailLink,
  mail,
  device,
  toActs,
  activityReasons,
  restored,
  quotas,
}

/** All messages. @param noun The noun for an actor. */
function messages(noun: EnglishNoun) {
  return {
    ...plain,
    notices: notices(noun),
    failed: failed(noun),
    front: front(noun),
    created: created(noun),
    home: home(noun),
    firstSteps: firstSteps(noun),
    signIn: signIn(noun),
    consent: consent(noun),
    settings: settings(noun),
    passkeys: passkeys(noun),
    freshSignIn: freshSignIn(noun),
    passwordAccess: passwordAccess(noun),
    files: files(noun),
    imports: imports(noun),
    moving: moving(noun),
    arrival: arrival(noun),
    rights: rights(noun),
    review: review(noun),
    connections: connections(noun),
    request: request(noun),
    peer: peer(noun),
    invite: invite(noun),
    invited: invited(noun),
    membership: membership(noun),
    because: because(noun),
    toChange: toChange(noun),
    newKey,
    connectClient,
    operator: operator(noun),
    apps: apps(noun),
  }
}

export const english = { noun: { one: 'account', many: 'accounts', a: 'an account' }, messages }
