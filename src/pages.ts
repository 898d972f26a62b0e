/**
 * `troupe/pages`: the values that pages receive, for an application that replaces built-in pages.
 *
 * @example
 * ```ts
 * import { html } from 'troupe'
 * import type { Html, PageValues } from 'troupe/pages'
 *
 * export function dashboard({ creator }: PageValues<'dashboard'>): Html {
 *   return html`<h1>${creator}</h1>`
 * }
 * ```
 */
export type { Pages, PageValues } from './pages/all-pages.ts'
export type { OwnPages } from './pages/shared/page-set.ts'
export type {
  ActorPageValues,
  CreatedValues,
  FactoryValues,
  FailedValues,
  Html,
  LinkedText,
  SignInProvider,
  SignOutValues,
  SiteValues,
} from './pages/shared/values.ts'
export type {
  AccessMapValues,
  ActivityDay,
  DashboardValues,
  MapAccess,
  MapPerson,
  MapPlace,
} from './pages/home/values.ts'
export type { ConsoleOptions, MessageOverrides, Messages } from './pages/languages/language.ts'
export type { Covered, EnglishNoun } from './pages/languages/english.ts'
export type { TimeUnit } from './pages/languages/formats.ts'
export type { GermanNoun } from './pages/languages/german-noun.ts'
export type { Moment } from './pages/shared/time.ts'
export type { RightsLine } from './pages/shared/rights.ts'
export type { Member, ValueTree } from './pages/shared/value-tree.ts'
export type { ConsentValues, OfferedTrustType } from './pages/consent/values.ts'
export type { ClaimValues, EmailValues, VerificationValues } from './pages/sign-in/values.ts'
export type { ReferenceOperation, ReferenceParameter, ReferenceValues } from './pages/reference/values.ts'
export type {
  EditConflict,
  Editable,
  ExistingProperty,
  ListItemValues,
  Paging,
  PropertiesValues,
  PropertyRow,
  PropertyValues,
  TypedItem,
  TypedProperty,
} from './pages/properties/values.ts'
export type {
  AccessReview,
  DataAccess,
  LevelForm,
  MayAnswer,
  OauthClient,
  PeerName,
  RightsFields,
  RightsFieldset,
  RightsPreview,
  SeenOperation,
  SeenProperty,
  GrantRow,
  TrustStanding,
  TrustConnection,
  TrustListValues,
  TrustNewValues,
  TrustPeerValues,
  TrustRow,
  TrustTypeChoice,
  TrustViewValues,
} from './pages/relationships/values.ts'
export type {
  SubscriptionRow,
  SubscriptionsValues,
  SubscriptionValues,
  TimelineRow,
} from './pages/subscriptions/values.ts'
export type { AppGroup, AppsValues, ConnectedApp, SessionRow } from './pages/apps/values.ts'
export type {
  ApprovalRow,
  ApprovalValues,
  ConnectionRequest,
  DecisionRow,
  RequestsValues,
} from './pages/requests/values.ts'
export type { PasswordAccessValues, ProgramWithPassword } from './pages/password-access/values.ts'
export type { ActivityRow, ActivityValues } from './pages/activity/values.ts'
