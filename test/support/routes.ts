/** The route table of a service in development mode, and one valid request for each route. */
import { Registry } from '../../src/app/registry.ts'
import { resolveConfig } from '../../src/features/config.ts'
import type { Route } from '../../src/http/dispatch/route.ts'
import { documentedRoutes } from '../../src/service/documented-routes.ts'
import type { App } from '../../src/troupe.ts'
import type { TestActor } from './service.ts'

export const routes: readonly Route[] = documentedRoutes({
  config: resolveConfig({ mode: 'development', devMail: false }, {}),
  identity: {
    type: 'urn:actingweb:example.com:test',
    name: 'test',
    version: '1',
    description: '',
    info: '',
    specification: '',
  },
  baseUrl: 'http://troupe.test',
  registry: new Registry(),
})

/** Returns whether a route belongs to an actor. All others belong to the service. */
export function isBelowActor({ id, path }: Pick<Route, 'id' | 'path'>): boolean {
  // It answers also for an actor that moved to another service and is no longer here.
  return (path === '/:actor' || path.startsWith('/:actor/')) && id !== 'getMove'
}

export interface Sample {
  /** The path, with `:actor` in place of the actor's id. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as the form of a page. */
  readonly form?: Readonly<Record<string, string>>
  /** The status for the owner of the actor, or for the peer when only the peer may call. */
  readonly status: number
  /** The peer that the path names, when that peer may call. */
  readonly peer?: string
  /** The status for that peer, when it differs from `status`. */
  readonly peerStatus?: number
}

/** The peer of the relationship that `furnish` creates, which waits for approval. */
export const samplePeer = 'sample-peer'
const sampleSubscriptions = `/:actor/subscriptions/${samplePeer}`
/** A subscription that does not exist, because the service generates the ids. */
const sampleSubscription = `${sampleSubscriptions}/none`
const sampleCallback = `/:actor/callbacks/subscriptions/${samplePeer}/none`
const samplePermissionCallback = `/:actor/callbacks/permissions/${samplePeer}`
const sampleTrust = `/:actor/trust/friend/${samplePeer}`

/** Samples by route id, for an actor from `furnish` and an application from `declareAll`. */
export const samples: Readonly<Record<string, Sample>> = {
  frontPage: { path: '/', status: 200 },
  login: { path: '/login', status: 200 },
  createActor: { path: '/', body: { creator: 'new@example.com' }, status: 201 },
  live: { path: '/health/live', status: 200 },
  ready: { path: '/health/ready', status: 200 },
  metrics: { path: '/metrics', status: 200 },
  openapi: { path: '/openapi.json', status: 200 },
  reference: { path: '/docs', status: 200 },
  asset: { path: '/assets/troupe.css', status: 200 },
  // The service has no operator.
  operatorTeam: { path: '/admin/operators', status: 404 },
  operatorTeamForm: { path: '/admin/operators', form: { action: 'add', name: 'ada@example.com' }, status: 404 },
  firstOperator: { path: '/admin/first', status: 410 },
  firstOperatorForm: { path: '/admin/first', form: { code: 'none' }, status: 403 },
  ownerLink: { path: '/oauth/owner-link', status: 410 },
  ownerLinkForm: { path: '/oauth/owner-link', form: { code: 'none' }, status: 403 },
  operatorStatus: { path: '/admin', status: 404 },
  operatorActors: { path: '/admin/actors', status: 404 },
  operatorActor: { path: '/admin/actors/:actor', status: 404 },
  operatorActorForm: { path: '/admin/actors/:actor', form: { action: 'redrive' }, status: 404 },
  operatorDeliveries: { path: '/admin/deliveries', status: 404 },
  operatorPrograms: { path: '/admin/apps', status: 404 },
  bot: { path: '/bot', body: { text: 'hello' }, status: 404 },
  registerClient: {
    path: '/oauth/register',
    body: { client_name: 'A program', redirect_uris: ['https://program.example/back'] },
    status: 201,
  },
  authorizePage: { path: '/oauth/authorize', status: 400 },
  authorizeDecision: { path: '/oauth/authorize', body: {}, status: 400 },
  authorizeFinish: { path: '/oauth/authorize/finish', status: 403 },
  clientToken: { path: '/oauth/token', body: {}, status: 400 },
  revokeClientToken: { path: '/oauth/token/revoke', body: {}, status: 400 },
  authorizationServer: { path: '/.well-known/oauth-authorization-server', status: 200 },
  authorizationServerOfMcp: { path: '/.well-known/oauth-authorization-server/mcp', status: 200 },
  protectedResource: { path: '/.well-known/oauth-protected-resource', status: 200 },
  protectedResourceOfMcp: { path: '/.well-known/oauth-protected-resource/mcp', status: 200 },
  protectedResourceOfActor: { path: '/.well-known/oauth-protected-resource/:actor', status: 200 },
  mcpMessage: { path: '/mcp', body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, status: 401 },
  mcpInfo: { path: '/mcp', status: 200 },
  endMcpSession: { path: '/mcp', status: 401 },
  mcpInfoPage: { path: '/mcp/info', status: 200 },
  getSession: { path: '/oauth/session', status: 200 },
  getSpaSession: { path: '/oauth/spa/session', status: 200 },
  revokeToken: { path: '/oauth/revoke', body: { token: 'none' }, status: 200 },
  revokeSpaToken: { path: '/oauth/spa/revoke', body: { token: 'none' }, status: 200 },
  askLogout: { path: '/oauth/logout', status: 200 },
  logout: { path: '/oauth/logout', status: 200 },
  spaLogout: { path: '/oauth/spa/logout', status: 200 },
  exchangeSpaSession: { path: '/oauth/spa/session/none', status: 404 },
  beginSignIn: { path: '/oauth/login/unknown', status: 400 },
  signInCallback: { path: '/oauth/callback', status: 400 },
  signInFormCallback: { path: '/oauth/callback/unknown', body: {}, status: 415 },
  signInAtHost: { path: '/oauth/host?state=unknown&code_challenge=none', status: 404 },
  passkeyPage: { path: '/oauth/passkey?state=unknown&code_challenge=none', status: 404 },
  passkeyForm: { path: '/oauth/passkey', form: { action: 'sign_in' }, status: 404 },
  emailLinkPage: { path: '/oauth/email-link?state=unknown&code_challenge=none', status: 404 },
  emailLinkForm: { path: '/oauth/email-link', form: { action: 'send' }, status: 404 },
  deviceAuthorization: { path: '/oauth/device_authorization', body: {}, status: 400 },
  deviceQrCode: { path: '/oauth/device/qr?user_code=k7dm-4x2p', status: 200 },
  devicePage: { path: '/oauth/device', status: 200 },
  deviceForm: { path: '/oauth/device', form: { user_code: '0000-0000' }, status: 400 },
  passkeysPage: { path: '/:actor/www/passkeys', status: 200 },
  passkeysForm: { path: '/:actor/www/passkeys', form: { action: 'new_codes' }, status: 200 },
  claimActor: { path: '/oauth/claim', body: {}, status: 415 },
  oauthConfig: { path: '/oauth/config', status: 200 },
  spaConfig: { path: '/oauth/spa/config', status: 200 },
  spaAuthorize: { path: '/oauth/spa/authorize', body: {}, status: 400 },
  askEmail: { path: '/oauth/email', status: 400 },
  enterEmail: { path: '/oauth/email', body: { session: 'unknown' }, status: 400 },
  verifyEmail: { path: '/:actor/www/verify_email?token=unknown', status: 403 },
  followEmail: { path: '/:actor/www/verify_email', body: {}, status: 400 },
  spaCallback: { path: '/oauth/spa/callback', status: 400 },
  spaToken: { path: '/oauth/spa/token', body: { grant_type: 'refresh_token', refresh_token: 'none' }, status: 401 },
  getActor: { path: '/:actor', status: 200 },
  deleteActor: { path: '/:actor', status: 204 },
  getMeta: { path: '/:actor/meta', status: 200 },
  getMetaValue: { path: '/:actor/meta/id', status: 200 },
  listActivity: { path: '/:actor/activity', status: 200 },
  listHistory: { path: '/:actor/history', status: 200 },
  undoChanges: { path: '/:actor/history/undo', body: { name: 'none' }, status: 404 },
  deleteHistory: { path: '/:actor/history?name=none', status: 204 },
  exportActor: { path: '/:actor/export', status: 200 },
  exportPage: { path: '/:actor/www/export', status: 200 },
  getImport: { path: '/:actor/import', status: 404 },
  importArchive: { path: '/:actor/import', body: { kind: 'none' }, status: 400 },
  stopImport: { path: '/:actor/import', status: 404 },
  importPage: { path: '/:actor/www/import', status: 200 },
  importForm: { path: '/:actor/www/import', form: { action: 'stop' }, status: 409 },
  getMove: { path: '/:actor/meta/moving', status: 404 },
  announceMove: {
    path: '/moves',
    body: {
      actor: 'ada',
      from: 'https://old.example.com/ada',
      token: 't'.repeat(43),
      claim_hash: 'c'.repeat(43),
      key: { kty: 'OKP', crv: 'Ed25519', x: 'x', d: 'd' },
    },
    status: 403,
  },
  sendMovedArchive: { path: '/moves/:actor', body: { kind: 'none' }, status: 401 },
  activateMove: { path: '/moves/:actor/activation', status: 401 },
  cancelMove: { path: '/moves/:actor', status: 401 },
  postMovedCallback: {
    path: `/:actor/callbacks/moved/${samplePeer}`,
    body: { statement: 'not signed' },
    status: 403,
  },
  getOwnMove: { path: '/:actor/move', status: 200 },
  beginMove: { path: '/:actor/move', body: { to: 'ftp://example.com' }, status: 400 },
  stopMove: { path: '/:actor/move', status: 404 },
  retryMovedPeers: { path: '/:actor/move/peers', body: {}, status: 202 },
  movePage: { path: '/:actor/www/move', status: 200 },
  moveForm: { path: '/:actor/www/move', form: { action: 'stop' }, status: 409 },
  moveClaimPage: { path: '/moves/:actor/claim', status: 404 },
  moveClaimForm: { path: '/moves/:actor/claim', form: { code: 'none' }, status: 403 },
  getArrivedReaders: { path: '/moves/:actor/claim/readers?code=none', status: 403 },
  takeArrivedActor: { path: '/moves/:actor/claim/passphrase', body: { code: 'none' }, status: 403 },
  listApprovals: { path: '/:actor/approvals', status: 200 },
  getApproval: { path: '/:actor/approvals/none', status: 404 },
  decideApproval: { path: '/:actor/approvals/none', body: { approved: true }, status: 404 },
  // The actor has no kind with roles.
  listMembers: { path: '/:actor/members', status: 404 },
  inviteMember: { path: '/:actor/members/invitations', body: { role: 'captain' }, status: 404 },
  getMember: { path: '/:actor/members/none', status: 404 },
  setMemberRole: { path: '/:actor/members/none', body: { role: 'captain' }, status: 404 },
  removeMember: { path: '/:actor/members/none', status: 404 },
  listWebhooks: { path: '/:actor/webhooks', status: 200 },
  addWebhook: {
    path: '/:actor/webhooks',
    body: { url: 'https://receiver.example.com/hook', events: ['list_changed'] },
    status: 201,
  },
  getWebhook: { path: '/:actor/webhooks/none', status: 404 },
  removeWebhook: { path: '/:actor/webhooks/none', status: 404 },
  rotateWebhookSecret: { path: '/:actor/webhooks/none/secret', body: {}, status: 404 },
  testWebhook: { path: '/:actor/webhooks/none/test', body: {}, status: 404 },
  listWebhookDeliveries: { path: '/:actor/webhooks/none/deliveries', status: 404 },
  redriveWebhook: { path: '/:actor/webhooks/none/redrive', body: {}, status: 404 },
  listKeys: { path: '/:actor/keys', status: 200 },
  createKey: {
    path: '/:actor/keys',
    body: { name: 'A sensor', grants: { actions: { patterns: ['paint'], operations: ['execute'] } } },
    status: 201,
  },
  getKey: { path: '/:actor/keys/none', status: 404 },
  putKey: { path: '/:actor/keys/none', body: { name: 'x' }, status: 404 },
  deleteKey: { path: '/:actor/keys/none', status: 404 },
  listInvitations: { path: '/:actor/invitations', status: 200 },
  createInvitation: { path: '/:actor/invitations', body: { relationship: 'friend' }, status: 201 },
  deleteInvitation: { path: '/:actor/invitations/none', status: 404 },
  showInvitation: { path: '/:actor/invite/none', status: 404 },
  listProperties: { path: '/:actor/properties', status: 200 },
  postProperties: { path: '/:actor/properties', body: { color: 'red', more: 1 }, status: 201 },
  putProperties: { path: '/:actor/properties', body: { color: 'red', more: 1 }, status: 204 },
  deleteProperties: { path: '/:actor/properties', status: 204 },
  getProperty: { path: '/:actor/properties/color', status: 200 },
  putProperty: { path: '/:actor/properties/color', body: 'red', status: 204 },
  postProperty: { path: '/:actor/properties/color', body: 'red', status: 201 },
  deleteProperty: { path: '/:actor/properties/color', status: 204 },
  getListItems: { path: '/:actor/properties/notes/items', status: 200 },
  changeListItem: { path: '/:actor/properties/notes/items', body: { action: 'add', item_value: 'x' }, status: 201 },
  getListMetadata: { path: '/:actor/properties/notes/metadata', status: 200 },
  putListMetadata: { path: '/:actor/properties/notes/metadata', body: { description: 'x' }, status: 204 },
  listFiles: { path: '/:actor/files', status: 200 },
  getFile: { path: '/:actor/files/none.txt', status: 404 },
  putFile: { path: '/:actor/files/new.txt', body: 'red', status: 201 },
  deleteFile: { path: '/:actor/files/none.txt', status: 404 },
  listMethods: { path: '/:actor/methods', status: 200 },
  getMethod: { path: '/:actor/methods/greet', status: 200 },
  callMethod: { path: '/:actor/methods/greet', body: {}, status: 200 },
  putMethod: { path: '/:actor/methods/greet', body: {}, status: 200 },
  deleteMethod: { path: '/:actor/methods/greet', status: 204 },
  listActions: { path: '/:actor/actions', status: 200 },
  getAction: { path: '/:actor/actions/paint', status: 200 },
  callAction: { path: '/:actor/actions/paint', body: {}, status: 200 },
  putAction: { path: '/:actor/actions/paint', body: {}, status: 200 },
  deleteAction: { path: '/:actor/actions/paint', status: 204 },
  getResource: { path: '/:actor/resources/picture', status: 200 },
  postResource: { path: '/:actor/resources/picture', body: {}, status: 201 },
  putResource: { path: '/:actor/resources/picture', body: {}, status: 200 },
  deleteResource: { path: '/:actor/resources/picture', status: 200 },
  listTrusts: { path: '/:actor/trust', status: 200 },
  requestTrust: { path: '/:actor/trust', body: { url: 'https://peer.example.com/asked' }, status: 201 },
  putTrustee: { path: '/:actor/trust/trustee', body: { trustee_root: 'https://trustee.example.com/1' }, status: 204 },
  deleteTrustee: { path: '/:actor/trust/trustee', status: 204 },
  listServices: { path: '/:actor/services', status: 200 },
  connectService: { path: '/:actor/services/drive/connect', status: 302 },
  serviceCallback: { path: '/:actor/services/drive/callback', status: 400 },
  disconnectService: { path: '/:actor/services/drive', status: 404 },
  sharedServiceCallback: { path: '/services/drive/callback', status: 400 },
  getTrustsNamed: { path: `/:actor/trust/${samplePeer}`, status: 200, peer: samplePeer },
  receiveTrust: {
    path: '/:actor/trust/friend',
    body: { baseuri: 'https://peer.example.com/asking', id: 'asking' },
    status: 202,
  },
  putTrustNamed: { path: `/:actor/trust/${samplePeer}`, body: { approved: true }, status: 204 },
  deleteTrustNamed: { path: `/:actor/trust/${samplePeer}`, status: 204, peer: samplePeer },
  getTrust: { path: sampleTrust, status: 202, peer: samplePeer },
  notifyTrust: { path: sampleTrust, body: { approved: true }, status: 204, peer: samplePeer },
  putTrust: { path: sampleTrust, body: { approved: true }, status: 204 },
  deleteTrust: { path: sampleTrust, status: 204, peer: samplePeer },
  listApps: { path: '/:actor/apps', status: 200 },
  disconnectApp: { path: '/:actor/apps/none', status: 404 },
  streamChanges: { path: '/:actor/live', status: 400 },
  listSessions: { path: '/:actor/sessions', status: 200 },
  endOtherSessions: { path: '/:actor/sessions', status: 200 },
  endSession: { path: '/:actor/sessions/none', status: 404 },
  listPasswordAccess: { path: '/:actor/password-access', status: 200 },
  decidePasswordAccess: { path: '/:actor/password-access/none', body: { decision: 'keep' }, status: 404 },
  getPermissions: { path: `${sampleTrust}/permissions`, status: 200 },
  putPermissions: { path: `${sampleTrust}/permissions`, body: { properties: { patterns: ['x'] } }, status: 201 },
  deletePermissions: { path: `${sampleTrust}/permissions`, status: 204 },
  getSharedProperties: { path: `${sampleTrust}/shared_properties`, status: 200, peer: samplePeer },
  getGrantedPermissions: { path: `/:actor/permissions/${samplePeer}`, status: 200, peer: samplePeer },
  listSubscriptions: { path: '/:actor/subscriptions', status: 200 },
  getRemoteValue: { path: `/:actor/remote/${samplePeer}/none`, status: 404 },
  getRemoteItems: { path: `/:actor/remote/${samplePeer}/none/items`, status: 404 },
  subscribe: { path: '/:actor/subscriptions', body: { peerid: samplePeer, target: 'properties' }, status: 204 },
  listSubscriptionsOfPeer: { path: sampleSubscriptions, status: 200, peer: samplePeer },
  receiveSubscription: { path: sampleSubscriptions, body: { target: 'properties' }, status: 201, peer: samplePeer },
  pollSubscription: { path: sampleSubscription, status: 404, peer: samplePeer },
  acknowledgeSubscription: { path: sampleSubscription, body: { sequence: 1 }, status: 404, peer: samplePeer },
  endSubscription: { path: sampleSubscription, status: 404, peer: samplePeer, peerStatus: 204 },
  readDiff: { path: `${sampleSubscription}/1`, status: 404, peer: samplePeer },
  redriveSubscription: { path: `${sampleSubscription}/redrive`, status: 404 },
  postSubscriptionCallback: { path: sampleCallback, body: { sequence: 1, data: {} }, status: 404, peer: samplePeer },
  putSubscriptionCallback: { path: sampleCallback, body: { sequence: 1, data: {} }, status: 404, peer: samplePeer },
  deleteSubscriptionCallback: { path: sampleCallback, status: 404, peer: samplePeer, peerStatus: 204 },
  postPermissionCallback: { path: samplePermissionCallback, body: { data: {} }, status: 204, peer: samplePeer },
  putPermissionCallback: { path: samplePermissionCallback, body: { data: {} }, status: 204, peer: samplePeer },
  getCallback: { path: '/:actor/callbacks/ring', status: 200 },
  postCallback: { path: '/:actor/callbacks/ring', body: {}, status: 200 },
  putCallback: { path: '/:actor/callbacks/ring', body: {}, status: 200 },
  deleteCallback: { path: '/:actor/callbacks/ring', status: 200 },
  dashboard: { path: '/:actor/www', status: 200 },
  settingsPage: { path: '/:actor/www/settings', status: 200 },
  settingsForm: {
    path: '/:actor/www/settings',
    form: { action: 'delete', confirmation: 'owner@example.com' },
    status: 302,
  },
  mailPage: { path: '/:actor/www/mail', status: 200 },
  mailForm: { path: '/:actor/www/mail', form: { application: '1' }, status: 302 },
  unsubscribePage: { path: '/:actor/mail/unsubscribe?kind=application&proof=none', status: 403 },
  unsubscribe: {
    path: '/:actor/mail/unsubscribe?kind=application&proof=none',
    form: { 'List-Unsubscribe': 'One-Click' },
    status: 403,
  },
  firstSteps: { path: '/:actor/www/init', status: 200 },
  ownPage: { path: '/:actor/www/report', status: 200 },
  ownPageForm: { path: '/:actor/www/report', form: { year: '2026' }, status: 200 },
  propertiesPage: { path: '/:actor/www/properties', status: 200 },
  createPropertyForm: {
    path: '/:actor/www/properties',
    form: { property_name: 'new', property_value: 'x' },
    status: 302,
  },
  selectionForm: {
    path: '/:actor/www/selection',
    form: { action: 'confirm', 'pick:color': '1', 'pick:notes': '1' },
    status: 302,
  },
  propertyPage: { path: '/:actor/www/properties/notes', status: 200 },
  propertyForm: { path: '/:actor/www/properties/color', form: { value: 'red' }, status: 302 },
  deletePropertyForm: { path: '/:actor/www/properties/color', status: 302 },
  itemForm: { path: '/:actor/www/properties/notes/items', form: { action: 'add', item_value: 'x' }, status: 302 },
  listTextsForm: { path: '/:actor/www/properties/notes/metadata', form: { description: 'x' }, status: 302 },
  filesPage: { path: '/:actor/www/files', status: 200 },
  filesForm: { path: '/:actor/www/files', form: { action: 'delete', name: 'none' }, status: 409 },
  trustPage: { path: '/:actor/www/trust', status: 200 },
  trustNewPage: { path: '/:actor/www/trust/new', status: 200 },
  requestTrustForm: {
    path: '/:actor/www/trust/new',
    form: { peer_url: 'https://peer.example.com/asked', trust_type: 'friend' },
    status: 302,
  },
  membersPage: { path: '/:actor/www/members', status: 404 },
  membersForm: { path: '/:actor/www/members', form: { action: 'remove', member: 'none' }, status: 404 },
  invitePage: { path: '/:actor/www/trust/invite', status: 200 },
  inviteForm: {
    path: '/:actor/www/trust/invite',
    form: { action: 'create', trust_type: 'friend', days: '7' },
    status: 200,
  },
  peerPage: { path: `/:actor/www/trust/${samplePeer}?ask=properties.read&target=color`, status: 200 },
  peerForm: { path: `/:actor/www/trust/${samplePeer}`, form: { action: 'approve' }, status: 302 },
  rightsForm: {
    path: `/:actor/www/trust/${samplePeer}/permissions`,
    form: { step: 'save', 'properties.patterns': 'x' },
    status: 302,
  },
  accessForm: {
    path: `/:actor/www/trust/${samplePeer}/access`,
    form: { 'set:properties:color': 'block', 'set:actions:paint': 'block' },
    status: 302,
  },
  viewAsPeerPage: { path: `/:actor/www/trust/${samplePeer}/view`, status: 200 },
  subscriptionsPage: { path: '/:actor/www/subscriptions', status: 200 },
  subscriptionPage: { path: `/:actor/www/subscriptions/${samplePeer}/none`, status: 404 },
  subscriptionForm: { path: `/:actor/www/subscriptions/${samplePeer}/none`, form: { action: 'end' }, status: 404 },
  appsPage: { path: '/:actor/www/apps', status: 200 },
  appsForm: { path: '/:actor/www/apps', form: { action: 'end_other_sessions' }, status: 302 },
  requestsPage: { path: '/:actor/www/requests', status: 200 },
  approvalPage: { path: '/:actor/www/approvals/none', status: 404 },
  approvalForm: { path: '/:actor/www/approvals/none', form: { decision: 'allow' }, status: 409 },
  passwordAccessPage: { path: '/:actor/www/password-access', status: 200 },
  passwordAccessForm: { path: '/:actor/www/password-access', form: { action: 'keep', actor: 'none' }, status: 409 },
  historyPage: { path: '/:actor/www/history', status: 200 },
  historyForm: { path: '/:actor/www/history', form: { action: 'delete', name: 'none' }, status: 302 },
  undoPage: { path: '/:actor/www/history/undo?name=none', status: 404 },
  undoForm: { path: '/:actor/www/history/undo', form: { request_id: 'none' }, status: 409 },
  activityPage: { path: '/:actor/www/activity', status: 200 },
  activityExport: { path: '/:actor/www/activity/export?format=csv', status: 200 },
  // The sample omits the Accept header, because the event stream would not end.
  liveChanges: { path: '/:actor/www/live', status: 400 },
  devtestProxyCreate: { path: '/:actor/devtest/proxy/create', body: { color: 'red' }, status: 200 },
  devtestProxyGet: { path: '/:actor/devtest/proxy/properties/color', status: 200 },
  devtestProxyPut: { path: '/:actor/devtest/proxy/properties/color', body: 'red', status: 204 },
  devtestProxyDelete: { path: '/:actor/devtest/proxy/properties/color', status: 204 },
  devtestGet: { path: '/:actor/devtest/attribute/box/key', status: 200 },
  devtestPut: { path: '/:actor/devtest/attribute/box/key', body: 'x', status: 204 },
  devtestPost: { path: '/:actor/devtest/attribute/box', body: { key: 'x' }, status: 200 },
  devtestDelete: { path: '/:actor/devtest/attribute/box/key', status: 204 },
}

export function sampleOf(route: Route): Sample {
  const sample = samples[route.id]
  if (sample === undefined) throw new Error(`Route ${route.id} has no sample in test/support/routes.ts`)
  return sample
}

/** Returns the sample request for one actor. */
export function requestOf(route: Route, actorId: string, headers: Record<string, string>): [string, RequestInit] {
  const { path } = sampleOf(route)
  const { type, text } = bodyOf(sampleOf(route))
  return [
    path.replace(':actor', actorId),
    {
      method: route.method,
      headers: { ...(type === undefined ? {} : { 'content-type': type }), ...headers },
      ...(text === undefined ? {} : { body: text }),
    },
  ]
}

function bodyOf({ body, form }: Sample): { readonly type?: string; readonly text?: string } {
  if (form !== undefined)
    return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(form).toString() }
  return body === undefined ? {} : { type: 'application/json', text: JSON.stringify(body) }
}

/** Declares a method, an action that changes the actor, a resource, a callback and a page. Each adds its name to `done`. */
export function declareAll(app: App, done: string[] = []): void {
  const answer = (what: string): { done: string } => {
    done.push(what)
    return { done: what }
  }
  app.method('greet', () => answer('greet'))
  app.action('paint', async ({ actor }) => {
    await actor.set('color', 'green')
    return answer('paint')
  })
  app.resource('picture', () => answer('picture'))
  app.callback('ring', () => answer('ring'))
  app.service('drive', {
    authorizationUrl: 'https://drive.example.com/authorize',
    tokenUrl: 'https://drive.example.com/token',
    clientId: 'troupe-test',
    clientSecret: 'planted-client-secret',
  })
  app.www(({ path }) => (path === 'report' ? answer('report') : null))
}

/** Strings that `furnish` stores in an actor. A response to another caller must not contain them. */
export const planted = ['planted-blue', 'planted-note', 'planted-texts', 'planted-key', 'planted-trust'] as const

export async function furnish(actor: TestActor): Promise<void> {
  await requireDone(
    await actor.request('POST', '/properties', {
      color: 'planted-blue',
      notes: { _type: 'list', description: 'planted-texts' },
    }),
  )
  await requireDone(await actor.request('POST', '/properties/notes', '"planted-note"'))
  await requireDone(await actor.request('PUT', '/devtest/attribute/box/key', '"planted-key"'))
  const asking = { baseuri: `https://peer.example.com/${samplePeer}`, id: samplePeer, desc: 'planted-trust' }
  await requireDone(await actor.request('POST', '/trust/friend', asking))
}

async function requireDone(response: Response): Promise<void> {
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
}
