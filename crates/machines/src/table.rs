//! The `machine!` macro: a table in, an enum of states, an enum of events and `next` out.
//!
//! Macro and tables share a crate on purpose: `unreachable_patterns`, which refuses a pair listed twice, is silent for
//! macros that come from elsewhere.

use std::fmt::Debug;

use crate::describe::Description;

/// A machine's name, its table and the step it allows.
pub trait Machine: Copy + Eq + Debug + Send + Sync + Sized + 'static {
    type Event: Event<State = Self>;

    /// Where every entity of this machine begins.
    const INITIAL: Self;
    /// The table as data.
    const DESCRIPTION: &'static Description;
    const STATES: &'static [Self];
    const EVENTS: &'static [Self::Event];

    /// The one step the table lists for this pair, or the refusal that names both.
    fn next(self, event: Self::Event) -> Result<Self, Illegal>;
    /// The state's name as the specifications spell it.
    fn as_str(self) -> &'static str;
    fn event_str(event: Self::Event) -> &'static str;
    fn parse(text: &str) -> Option<Self>;

    /// No row leaves this state.
    fn is_final(self) -> bool {
        Self::EVENTS.iter().all(|&event| self.next(event).is_err())
    }
}

/// What may happen to a machine's entity; knows its machine, so that an event alone says whose state it moves.
pub trait Event: Copy + Eq + Debug + Send + Sync + 'static {
    type State: Machine<Event = Self>;
}

/// Who may cause a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Orchestrator,
    Runner,
    StatusReporter,
    OutboxWorker,
    Collector,
    Reconciler,
    Workflow,
}

impl Owner {
    pub fn as_str(self) -> &'static str {
        match self {
            Owner::Orchestrator => "Orchestrator",
            Owner::Runner => "Runner",
            Owner::StatusReporter => "StatusReporter",
            Owner::OutboxWorker => "OutboxWorker",
            Owner::Collector => "Collector",
            Owner::Reconciler => "Reconciler",
            Owner::Workflow => "Workflow",
        }
    }
}

/// A pair the table does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Illegal {
    pub machine: &'static str,
    pub state: &'static str,
    pub event: &'static str,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} machine has no row for {} in {}", self.machine, self.event, self.state)
    }
}

impl std::error::Error for Illegal {}

macro_rules! machine {
    (
        $(#[doc = $about:literal])+
        $name:ident $(derived $derived:ident)? {
            states { $( $(#[doc = $state_about:literal])+ $state:ident = $state_name:literal, )+ }
            rests { $( $rest:ident ),* }
            events { $( $event:ident ),+ $(,)? }
            rows { $( $($from:ident)|+ + $on:ident => $to:ident by $owner:ident $(ext $why:literal)?, )+ }
        }
    ) => {
        use $crate::describe::{Description, Row, Source, StateInfo};
        use $crate::table::{Illegal, Machine, Owner};

        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum State { $( $(#[doc = $state_about])+ $state, )+ }

        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Event { $( $event, )+ }

        impl $crate::table::Event for Event {
            type State = State;
        }

        impl Machine for State {
            type Event = Event;
            const INITIAL: State = STATES[0];
            const DESCRIPTION: &'static Description = &DESCRIPTION;
            const STATES: &'static [State] = STATES;
            const EVENTS: &'static [Event] = &[ $( Event::$event, )+ ];

            #[deny(unreachable_patterns)] // the same pair listed twice does not compile
            fn next(self, event: Event) -> Result<State, Illegal> {
                match (self, event) {
                    $( ($(State::$from)|+, Event::$on) => Ok(State::$to), )+
                    #[allow(unreachable_patterns)] // a table may be full
                    _ => Err(Illegal {
                        machine: DESCRIPTION.name,
                        state: self.as_str(),
                        event: Self::event_str(event),
                    }),
                }
            }

            fn as_str(self) -> &'static str {
                match self { $( State::$state => $state_name, )+ }
            }

            fn event_str(event: Event) -> &'static str {
                match event { $( Event::$event => stringify!($event), )+ }
            }

            fn parse(text: &str) -> Option<State> {
                match text { $( $state_name => Some(State::$state), )+ _ => None }
            }
        }

        const STATES: &[State] = &[ $( State::$state, )+ ];

        const fn name_of(state: State) -> &'static str {
            match state { $( State::$state => $state_name, )+ }
        }

        pub static DESCRIPTION: Description = Description {
            name: stringify!($name),
            about: concat!($($about),+),
            derived: machine!(@derived $($derived)?),
            initial: name_of(STATES[0]),
            states: &[ $( StateInfo { name: $state_name, about: concat!($($state_about),+) }, )+ ],
            rests: &[ $( name_of(State::$rest), )* ],
            events: &[ $( stringify!($event), )+ ],
            rows: &[ $( Row {
                from: &[ $( name_of(State::$from), )+ ],
                event: stringify!($on),
                to: name_of(State::$to),
                owner: Owner::$owner,
                source: machine!(@source $($why)?),
            }, )+ ],
        };
    };
    (@derived) => { false };
    (@derived yes) => { true };
    (@source) => { Source::Seed };
    (@source $why:literal) => { Source::Extension($why) };
}
