//! The simulation: the pure machine in a rude, seeded world, watched by observers that believe nothing.

mod act;
mod broker;
mod chance;
mod edge;
mod fault;
mod group;
mod guest;
mod happen;
mod ledger;
mod member;
mod names;
mod operator;
mod planted;
mod scenario;
mod seeds;
mod shrink;
mod trace;
mod witness;
mod world;
